// The other side of the wire: answers as documents.views does. test_drift.py replays the same traces against the real views.

const SAFE = 2_000_000;

/** @param {{maxBytes?: number, merges?: boolean|{list: string, id: string}, clean?: (content: any) => any, schema?: number, now?: () => number}} options */
export function createServer({ maxBytes = SAFE, merges = false, clean = (content) => content, schema = 1, now = () => 0 } = {}) {
  const documents = new Map(); // key → {revisions: [{version, text, by, writer, saveId, action}], deleted}
  const conflicts = new Map();
  const server = {
    documents,
    conflicts,
    revoked: new Set(),
    sessions: new Map(), // cookie → {user, csrf}
    log: [],
    busy: false,
    schema,
    merges,
    nextConflict: 1,

    login(cookie, user) {
      server.sessions.set(cookie, { user, csrf: `${user}-${server.sessions.size}-${server.log.length}` });
    },
    rotate(cookie) {
      const session = server.sessions.get(cookie);
      if (session) session.csrf += "+";
    },
    expire: (cookie) => server.sessions.delete(cookie),
    head: (key) => documents.get(key)?.revisions.at(-1),
    /** Somebody else saves, properly: on the head. */
    foreign(key, content, by = "sara") {
      const head = server.head(key);
      return write(key, { text: JSON.stringify(content), by, writer: "elsewhere", saveId: `foreign-${server.log.length}-${head?.version || 0}`, action: "save" });
    },
    remove: (key, by = "sara") => write(key, { text: "", by, writer: "elsewhere", saveId: `deleted-${server.log.length}`, action: "delete" }),
    restore(key, by = "sara") {
      const old = documents.get(key).revisions.findLast((one) => one.text && !one.pruned);
      return write(key, { text: old.text, by, writer: "elsewhere", saveId: `restored-${server.log.length}-${server.head(key).version}`, action: "restore" });
    },
    /** Old content goes, as `prune_documents` takes it. The texts stay here, for the oracle to find tokens in. */
    prune(key) {
      const referred = [...conflicts.values()].flatMap((one) => (one.name === key ? [one.base, one.refusedAt] : []));
      for (const one of documents.get(key).revisions.slice(0, -1)) one.pruned ||= !referred.includes(one.version);
    },
    handle,
  };

  function write(key, revision) {
    const document = documents.get(key) || { revisions: [] };
    documents.set(key, document);
    const made = { version: (document.revisions.at(-1)?.version || 0) + 1, at: now(), schema: server.schema, ...revision };
    document.revisions.push(made);
    return made;
  }

  const storedBody = (head) => ({
    version: head.version,
    content: head.text ? JSON.parse(head.text) : null,
    schema: head.schema,
    by: head.by,
    at: String(head.at),
    deleted: !head.text,
  });

  /** @param {{method: string, path: string, headers: Record<string, string>, body?: string, cookie?: string}} request */
  function handle(request) {
    const session = server.sessions.get(request.cookie);
    const reply = answer(request, session);
    server.log.push({ method: request.method, path: request.path, user: session?.user, body: request.body, status: reply.status, code: reply.body?.code });
    const tag = session ? `tag-${session.user}` : "anonymous";
    return { ...reply, headers: { "Documents-User": tag, ...reply.headers } };
  }

  const say = (status, body, headers = {}) => ({ status, body, headers });
  const no = (status, code, more = {}) => say(status, { code, message: `${code}.`, ...more });

  function answer({ method, path, headers, body: raw }, session) {
    if (path === "/documents/csrf/") {
      return say(200, { csrfToken: session?.csrf || "anonymous", user: session ? `tag-${session.user}` : "anonymous" });
    }
    const [, , kind, key, ...rest] = path.split("?")[0].split("/");
    if (!session) return no(401, "login_required", { loginUrl: "/login/" });
    if (method !== "GET" && headers["X-CSRFToken"] !== session.csrf) return no(403, "csrf_failed");
    if (headers["Documents-User"] && headers["Documents-User"] !== `tag-${session.user}`) return no(403, "other_user");
    if (server.revoked.has(session.user)) return no(403, "forbidden");
    if (server.busy) return say(503, { code: "busy", message: "Again.", retryAfter: 2 }, { "Retry-After": "2" });
    const name = `${kind}/${key}`;
    const [word, id, verb] = rest;
    if (!word) return method === "GET" ? get(name, session) : method === "PUT" ? put(name, session, raw) : patch(name, session, raw);
    if (word === "revisions") return revision(name, Number(id));
    const conflict = conflicts.get(id);
    if (word !== "conflicts" || !conflict || conflict.name !== name || conflict.by !== session.user) return no(404, "not_found");
    if (verb === "settle") return settle(conflict, session, JSON.parse(raw));
    if (verb === "seen") return ((conflict.seen = true), say(200, { conflictId: id, seen: true }));
    return method === "GET" ? look(conflict) : amend(conflict, JSON.parse(raw));
  }

  function get(name, session) {
    const head = server.head(name);
    if (!head) return no(404, "not_found");
    if (!head.text) return no(410, "gone", { headVersion: head.version, by: head.by, at: String(head.at) });
    const mine = [...conflicts.values()].filter((one) => one.name === name && one.by === session.user);
    return say(200, {
      ...storedBody(head),
      merges: Boolean(server.merges),
      patch: server.merges === true ? {} : server.merges || null,
      openConflicts: mine.filter((one) => !one.decision).map(({ id, writer, base, changes, at }) => ({ conflictId: id, writer, baseVersion: base, changes, at: String(at) })),
      settledConflicts: mine.filter((one) => one.decision && !one.seen).map((one) => ({ conflictId: one.id, writer: one.writer, saveId: one.saveId, decision: one.decision, by: one.settledBy, at: "", reason: one.reason, version: one.settledVersion })),
    });
  }

  function revision(name, version) {
    const found = documents.get(name)?.revisions.find((one) => one.version === version);
    return found && !found.pruned ? say(200, storedBody(found)) : no(404, "not_found");
  }

  /** The same save, sent as the values that changed: made whole, it is a save like any other. */
  function patch(name, session, raw) {
    const { set, ...save } = JSON.parse(raw);
    const invalid = (path) => no(422, "invalid", { path });
    const base = documents.get(name)?.revisions.find((one) => one.version === save.expectedVersion && one.text && !one.pruned);
    if (!server.merges || !base) return invalid("");
    const content = JSON.parse(base.text);
    for (const [path, value] of Object.entries(set)) {
      const [member, item] = path.slice(1).split("/").map((one) => one.replace(/~1/g, "/").replace(/~0/g, "~"));
      const { list, id } = server.merges;
      const within = item === undefined ? content : member === list && content[list];
      const place = item === undefined ? member : within && within.findIndex((one) => one[id] === item);
      if (!within || !Object.hasOwn(within, place) || (item !== undefined && value[id] !== item)) return invalid(path);
      within[place] = value;
    }
    return put(name, session, JSON.stringify({ ...save, content }));
  }

  function put(name, session, raw) {
    if (raw.length > maxBytes + 1000) return no(413, "too_large", { limit: maxBytes });
    const { expectedVersion, saveId, writer, content, schema: made } = JSON.parse(raw);
    if (expectedVersion === undefined) return no(428, "version_required");
    const text = JSON.stringify(content);
    if (text.length > maxBytes) return no(413, "too_large", { limit: maxBytes, size: text.length });
    const revisions = documents.get(name)?.revisions || [];
    const head = revisions.at(-1);
    const before = revisions.find((one) => one.saveId === saveId);
    if (before) {
      if ((before.sent ?? before.text) !== text || before.by !== session.user) return no(422, "save_id_reused");
      return say(200, { saveId, savedVersion: before.version, headVersion: head.version, replayed: true });
    }
    if (made !== server.schema) return no(409, "schema_changed", { schema: server.schema });
    const kept = clean(content);
    if (kept === undefined) return no(422, "invalid", { path: "/x", errors: [{ path: "/x", message: "no" }] });
    const keptText = JSON.stringify(kept);
    if (!head && expectedVersion > 0) return no(404, "not_found");
    if (head && !head.text) return no(410, "gone", { headVersion: head.version });
    const more = keptText === text ? {} : { normalised: changed(content, kept) };
    const said = (version, top) => say(version === 1 && !head ? 201 : 200, { saveId, savedVersion: version, headVersion: top, replayed: false, ...more });
    const same = revisions.findLast((one) => one.text === keptText && [expectedVersion, head.version].includes(one.version));
    if (same) return said(same.version, head.version);
    if ((head?.version || 0) === expectedVersion) {
      const revision = write(name, { text: keptText, sent: text, by: session.user, writer, saveId, action: "save" });
      return said(revision.version, revision.version);
    }
    const mine = [...conflicts.values()].filter((one) => one.name === name && one.by === session.user);
    const open = mine.find((one) => one.writer === writer && !one.decision);
    const refused = (id) => no(409, "version_conflict", { conflictId: id, expectedVersion, headVersion: head.version, stored: storedBody(head) });
    const repeated = mine.find((one) => one.saveId === saveId && one.theirs === keptText);
    if (!open && repeated) return refused(repeated.id); // a repeat of what was settled meanwhile
    const conflict = open || { id: `conflict-${server.nextConflict++}`, name, by: session.user, writer, changes: 0, decision: "", seen: false };
    if (conflict.saveId === saveId && conflict.theirs === keptText) return refused(conflict.id);
    conflict.changes++;
    Object.assign(conflict, { base: expectedVersion, refusedAt: head.version, theirs: keptText, saveId, schema: server.schema, at: now() });
    conflicts.set(conflict.id, conflict);
    return refused(conflict.id);
  }

  const headOf = (one) => ({
    conflictId: one.id, baseVersion: one.base, by: one.by, writer: one.writer, changes: one.changes, schema: one.schema, decision: one.decision || null,
    settledBy: one.settledBy || null, settledAt: one.settledBy ? "" : null, reason: one.reason || "",
  });

  function look(conflict) {
    const base = documents.get(conflict.name).revisions.find((one) => one.version === conflict.base);
    return say(200, {
      ...headOf(conflict),
      base: base?.text && !base.pruned ? JSON.parse(base.text) : null,
      theirs: JSON.parse(conflict.theirs),
      stored: storedBody(server.head(conflict.name)),
      merges: Boolean(server.merges),
      points: server.merges ? [] : null,
    });
  }

  function amend(conflict, { content, saveId }) {
    if (conflict.decision) return no(409, "already_settled", { ...headOf(conflict), version: conflict.settledVersion });
    const kept = clean(content);
    if (kept === undefined) return no(422, "invalid", { path: "/x" });
    const text = JSON.stringify(kept);
    if (text !== conflict.theirs) Object.assign(conflict, { theirs: text, saveId, changes: conflict.changes + 1 });
    return say(200, { conflictId: conflict.id, changes: conflict.changes });
  }

  function settle(conflict, session, { choice, expectedVersion, changes, content, saveId }) {
    const head = server.head(conflict.name);
    if (conflict.decision) {
      if (conflict.settleId === saveId) return say(200, { conflictId: conflict.id, decision: conflict.decision, version: conflict.settledVersion, replayed: true });
      return no(409, "already_settled", { ...headOf(conflict), version: conflict.settledVersion });
    }
    if (head.version !== expectedVersion || conflict.changes !== changes) {
      return no(409, "moved_on", { headVersion: head.version, changes: conflict.changes, stored: storedBody(head), picks: {} });
    }
    if (choice !== "keep_stored" && conflict.schema !== server.schema) return no(409, "schema_changed", { schema: server.schema });
    const text = choice === "take_theirs" ? conflict.theirs : choice === "merge" ? JSON.stringify(content) : null;
    if (choice === "merge" && !server.merges) return no(400, "invalid_body");
    const version = text === null || text === head.text ? head.version
      : write(conflict.name, { text, by: session.user, writer: conflict.writer, saveId, action: "settle" }).version;
    Object.assign(conflict, { decision: choice, settledBy: session.user, settleId: saveId, settledVersion: version });
    return say(200, { conflictId: conflict.id, decision: choice, version, replayed: false });
  }

  /** Staff settle in the admin. */
  server.staff = (id, choice) => {
    const conflict = conflicts.get(id);
    return settle(conflict, { user: "sara" }, { choice, expectedVersion: server.head(conflict.name).version, changes: conflict.changes, saveId: `staff-${id}` });
  };

  const changed = (before, after) => Object.fromEntries([...new Set([...Object.keys(after), ...Object.keys(before)])].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).map((name) => [name, after[name] ?? null]));
  return server;
}

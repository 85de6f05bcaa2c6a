// Types of document-session.js. The core's rooms carry the same in JSDoc.

export type Status =
  | "loading" | "clean" | "dirty" | "saving" | "retrying" | "conflict" | "auth"
  | "forbidden" | "gone" | "too_large" | "invalid" | "offline" | "closed";

export interface Options<Content = unknown> {
  /** Who is logged in, as the server's header Documents-User says. Drafts are kept under it. */
  user?: string;
  /** The content of a document that does not exist yet; it is created by the first edit. */
  create?: Content;
  /** The release of the content that this page understands (1). A page of an older release than the site can't save. */
  schema?: number;
  /** Bytes of UTF-8 beyond which nothing is sent; 0: only the server knows. */
  maxBytes?: number;
  /** Milliseconds after the last edit (1500), and at most after the first (10 000). */
  wait?: number;
  longest?: number;
  /** Milliseconds until a request counts as lost (20 000). */
  timeout?: number;
  /** Whether a session without unsaved work reads the document again when the page is looked at (true). */
  follow?: boolean;
  /** Where a fresh CSRF token is; by default csrf/ beside the kinds. */
  csrfUrl?: string;
}

export interface Offer {
  key: string;
  at: number;
  /** Its tab is open: a copy can be used, the slot stays. */
  live: boolean;
  /** A person threw it away within the last week. */
  binned: boolean;
  draft: { text: string; staged: string | null; version: number };
}

export interface Conflict<Content = unknown> {
  id: string;
  /** The stored version that is on the screen, and what it says. A decision is made against it. */
  version: number;
  stored: Content;
  deleted: boolean;
  by: string;
  at: string;
  base?: Content;
  points?: { id: string; conflict: boolean; default: string | null }[] | null;
  /** How somebody else ended it. */
  told: { decision: string; by: string; settledBy?: string; reason: string } | null;
}

export interface State<Content = unknown> {
  /** "clean" means one thing: the server committed what is on the screen. */
  status: Status;
  loaded: boolean;
  unsaved: boolean;
  /** Somebody else is logged in: show nothing. */
  hidden: boolean;
  version: number;
  staged: unknown;
  block: { status: Status; code: string; message?: string; path?: string; limit?: number; loginUrl?: string } | null;
  failed: "" | "moved_on" | "typed_on" | "not_reloaded" | string;
  backup: "local" | "indexed" | "memory";
  /** A stored version newer than ours, while there is unsaved work here. */
  behind: number;
  merges: boolean;
  settling: boolean;
  offers: Offer[];
  conflict: Conflict<Content> | null;
}

export interface Session<Content = unknown> {
  readonly url: string;
  readonly state: State<Content>;
  /** A fresh copy of what is on the screen; undefined before the first read and while `hidden`. */
  readonly content: Content | undefined;
  subscribe(listener: (state: State<Content>) => void): () => void;
  edit(content: Content): void;
  /** Half-typed input: kept in the draft, never sent. */
  stage(input: unknown): void;
  flush(): void;
  refresh(): void;
  hide(): void;
  wake(): void;
  settle(
    choice: "keep_stored" | "take_theirs" | "merge",
    more?: { picks?: Record<string, "stored" | "theirs" | "base">; content?: Content; version?: number },
  ): void;
  rebase(resolve: (base: Content, mine: Content, stored: Content) => Content | undefined): void;
  discardAndReload(): void;
  adopt(offer: Offer): void;
  dismiss(offer: Offer): void;
  offers(): Promise<void>;
  logout(): void;
  close(): void;
}

/** Open a document, or return the session that has it open already. */
export function openDocument<Content = unknown>(url: string, options?: Options<Content>): Promise<Session<Content>>;

/** Tell every tab that this person logged out. Drafts stay for their return; nothing is shown or sent. */
export function loggedOut(): void;

/**
 * `<document-session data-url="…">`; events `documents:open` (detail: Session), `documents:state` (detail: State) and
 * `documents:saved-as` (detail: the Session of the new document).
 */
export class DocumentSession extends HTMLElement {
  session?: Session;
}

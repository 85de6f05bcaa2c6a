// Never run: the public face as a page of TypeScript sees it. What must not compile is marked, so a looser type is noticed too.
import { openDocument, loggedOut, DocumentSession, type Session, type State } from "../../../documents/static/documents/document-session.js";
interface Note { text: string }
const session: Session<Note> = await openDocument<Note>("/documents/note/n/", { create: { text: "" }, maxBytes: 10 });
const undo: () => void = session.subscribe(({ status, block, conflict }: State<Note>) => {
  if (status === "conflict" && conflict) session.settle("merge", { content: conflict.stored, version: conflict.version });
  if (block?.status === "gone") session.discardAndReload();
});
session.edit({ text: "x" });
// @ts-expect-error a number is no note
session.edit(7);
session.rebase((base, mine, stored) => ({ text: base.text + mine.text + stored.text }));
undo(); loggedOut(); new DocumentSession();
export {};

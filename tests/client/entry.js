// What the tests take from the client; build.py makes of it the shipped form, so that the same tests run over that too.
export { createSession } from "../../documents/client/core/session.js";
export { createStorage, createIndexed } from "../../documents/client/core/storage.js";
export { patchOf } from "../../documents/client/core/patch.js";
export { createWriter } from "../../documents/client/core/writer.js";
export { roundedIn } from "../../documents/client/core/text.js";
export { begin, isUnsaved, statusOf } from "../../documents/client/core/state.js";
export { step } from "../../documents/client/core/machine.js";
export { classify } from "../../documents/client/core/answers.js";

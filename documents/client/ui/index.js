// What users import. Importing defines <document-session>; it touches no storage and no network.

import { loggedOut, openDocument } from "../core/open.js";
import { DocumentSession } from "./element.js";

export { DocumentSession, loggedOut, openDocument };

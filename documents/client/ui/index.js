export { openDocument, loggedOut } from "../core/open.js";

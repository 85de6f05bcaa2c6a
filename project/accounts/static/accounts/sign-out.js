// Signing out tells every tab of this browser before the server is told: open documents stop sending and showing, their
// drafts wait for this person's return. The address comes from the page, so that it is the hashed one.

const form = document.getElementById("sign-out");
if (form) {
  const { loggedOut } = await import(form.dataset.session);
  form.addEventListener("submit", loggedOut);
}

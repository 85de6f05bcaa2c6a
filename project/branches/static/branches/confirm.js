/** Opens the confirm dialog over the page. Without this script the same form stands in the page. */
const [dialog, ask, keep] = ["confirm", "ask", "keep"].map((id) => document.getElementById(id));

if (dialog && ask) {
  const open = () => {
    dialog.close();
    dialog.showModal();
  };
  ask.addEventListener("click", (event) => {
    event.preventDefault();
    open();
  });
  keep.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
  dialog.querySelector("form").addEventListener("submit", () => {
    dialog.querySelector("button").disabled = true;
  });
  if (dialog.open) open();
}

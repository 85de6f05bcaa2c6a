// Look: elements and their style. The sheet is constructed, so a strict style-src needs no exception.

/**
 * @param {string} tag @param {Record<string, any>} [props] @param {...(Node|string)} children
 */
export function make(tag, props, ...children) {
  const element = Object.assign(document.createElement(tag), props);
  element.append(...children);
  return element;
}

export const STYLE = `
:host{display:block;font:inherit;color-scheme:light dark;--good:light-dark(#2c6e49,#82c79d);--bad:light-dark(#a5281b,#f0907f);
--line:light-dark(#d9d2c6,#4a453f);--soft:light-dark(#655f57,#aaa297);--card:light-dark(#fffdfa,#22201d);--tone:var(--soft)}
:host([hidden]){display:none}
.chip{display:inline-flex;gap:.5em;align-items:center;margin:0;color:var(--tone);font-size:.9em}
.chip:before{content:"";width:.6em;height:.6em;border-radius:50%;border:2px solid}
.clean{--tone:var(--good)}.clean:before{background:var(--tone)}
.bad{--tone:var(--bad)}.chip.bad{font-weight:600}
section{border:1px solid var(--line);border-inline-start:4px solid var(--tone);border-radius:8px;background:var(--card);padding:.8em 1em;margin:.6em 0}
p{margin:0 0 .6em}p:last-child{margin:0}
.scroll{overflow:auto;max-height:60vh;margin-bottom:.8em}
table{border-collapse:collapse;width:100%}
th,td{text-align:start;vertical-align:top;padding:.4em .6em;border-top:1px solid var(--line);overflow-wrap:anywhere;white-space:pre-wrap}
th{font-weight:600;min-width:5em}thead *{border:0;color:var(--soft)}th:first-letter{text-transform:uppercase}
label{display:block}
input{margin-inline-end:.5em;accent-color:var(--good)}
button,a,section>input{font:inherit;padding:.35em .8em;border:1px solid var(--line);border-radius:6px;background:none;color:inherit;text-decoration:none;cursor:pointer;display:inline-block;margin:0 .4em .4em 0}
button:hover,a:hover{border-color:currentcolor}
:focus-visible{outline:3px solid light-dark(#b86e00,#f2b84b);outline-offset:2px}
button:disabled{opacity:.5}
@media(max-width:34rem){table,tbody,tr,th,td{display:block;border:0}thead{display:none}tr{border-top:1px solid var(--line);padding:.4em 0}td:before{content:attr(title);display:block;color:var(--soft);font-size:.85em}}
`;

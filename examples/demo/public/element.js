/** An element with its attributes and children. Text stays text: nothing here is ever read as HTML. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value)
    else if (typeof value === 'boolean') element.toggleAttribute(name, value)
    else if (value !== undefined) element.setAttribute(name, value)
  }
  element.append(...children.filter(child => child !== undefined))
  return element
}

/** Whether a pane shows its end, within a few lines: then it should go on showing it. */
export const isAtEnd = pane => pane.scrollHeight - pane.scrollTop - pane.clientHeight < 80

/** JSON as people read it. */
export const pretty = value => JSON.stringify(value, null, 2) ?? 'nothing'

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

/** Lets a pane go on showing its end while it does, until somebody scrolls away; call what it gives when there is more to show. */
export function keptAtEnd(pane) {
  let isKept = true
  const keep = () => {
    if (isKept) pane.scrollTop = pane.scrollHeight
  }
  pane.addEventListener('scroll', () => {
    isKept = pane.scrollHeight - pane.scrollTop - pane.clientHeight < 80
  })
  new ResizeObserver(keep).observe(pane)
  return keep
}

/** JSON as people read it. */
export const pretty = value => JSON.stringify(value, null, 2) ?? 'nothing'

import { fieldsOf } from './conversation.js'
import { h } from './element.js'

/** What a run waits for, and how a person answers it. */
export class Pendings {
  #pane
  #answer
  #shown = new Map()

  /** `answer` is called with the body of an answer; what it throws has been told. */
  constructor(pane, answer) {
    this.#pane = pane
    this.#answer = answer
  }

  /** Shows what is waited for now. */
  show(pendings) {
    for (const [id, element] of this.#shown) {
      if (pendings.has(id)) continue
      element.remove()
      this.#shown.delete(id)
    }
    for (const [id, pending] of pendings) {
      if (this.#shown.has(id)) continue
      const element = this.#formOf(pending)
      this.#shown.set(id, element)
      this.#pane.append(element)
    }
  }

  #formOf(pending) {
    const { kind, id } = pending
    const { title, about = [], controls, read } = askingOf(pending)
    const fields = h('fieldset', {}, h('legend', {}, title), ...about, ...controls)
    const form = h('form', { class: 'pending', 'data-kind': kind }, fields)
    form.addEventListener('submit', async event => {
      event.preventDefault()
      fields.disabled = true
      try {
        await this.#answer({ kind, id, ...read(event.submitter?.value, form) })
      } catch {
        fields.disabled = false
      }
    })
    return form
  }
}

const button = (value, label, look = '') => h('button', { type: 'submit', value, class: look }, label)
const row = (...controls) => h('div', { class: 'row' }, ...controls)

/** A field with its name. */
const field = (name, label, attributes = {}) =>
  h('label', {}, label, h('input', { name, autocomplete: 'off', ...attributes }))

function askingOf({ kind, toolName, input }) {
  if (kind === 'approval') return approval(toolName, input)
  return kind === 'interrupt' ? question(input) : clientTool(toolName, input)
}

function approval(toolName, input) {
  return {
    title: `May ${toolName} run?`,
    about: fieldsOf(input),
    controls: [
      row(
        field('reason', 'Reason', { placeholder: 'optional' }),
        button('yes', 'Approve', 'primary'),
        button('no', 'Deny'),
      ),
    ],
    read(value, form) {
      const reason = form.elements.namedItem('reason').value
      return { approved: value === 'yes', ...(reason && { reason }) }
    },
  }
}

/** This page is the client: `choose_color` with options is a row of buttons, any other tool a field for its output. */
function clientTool(toolName, input) {
  const [, name] = /^choose_(\w+)$/.exec(toolName) ?? []
  if (name && Array.isArray(input.options)) {
    const controls = [row(...input.options.map(option => button(option, option)))]
    return { title: `Choose a ${name}`, controls, read: value => ({ output: { [name]: value } }) }
  }
  return { title: `${toolName} is yours to run`, about: fieldsOf(input), ...json('output', 'Its output') }
}

function question({ kind, question: title = 'The run asks', options = [], multiple, schema }) {
  if (kind === 'form') return { title, about: fieldsOf(schema), ...json('value', 'Your answer') }
  if (kind === 'text') {
    const controls = [row(field('value', 'Your answer', { required: true }), button('', 'Answer', 'primary'))]
    return { title, controls, read: (_, form) => ({ value: form.elements.namedItem('value').value }) }
  }
  if (kind === 'choice' && !multiple) {
    const choices = options.map(({ id, label, description }) =>
      h('button', { type: 'submit', value: id, title: description }, label),
    )
    return { title, controls: [row(...choices)], read: value => ({ value }) }
  }
  const boxes = options.map(({ id, label }) =>
    h('label', { class: 'box' }, h('input', { type: 'checkbox', name: 'value', value: id }), label),
  )
  return {
    title,
    controls: [row(...boxes, button('', 'Answer', 'primary'))],
    read: (_, form) => ({ value: new FormData(form).getAll('value') }),
  }
}

/** A field for JSON; what is none is text. */
function json(key, label) {
  return {
    controls: [
      row(field('json', label, { required: true, placeholder: 'JSON or text' }), button('', 'Answer', 'primary')),
    ],
    read(_, form) {
      const text = form.elements.namedItem('json').value
      try {
        return { [key]: JSON.parse(text) }
      } catch {
        return { [key]: text }
      }
    },
  }
}

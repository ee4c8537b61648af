import type { Json, StructuredObject } from '@millrace/protocol'

const WIDTH = 58

/** The form of an email as far as it is known, line by line. */
export function formOf(email: StructuredObject | undefined): string[] {
  const { subject, body, bullets } = Object(email?.data ?? {}) as { subject?: Json; body?: Json; bullets?: Json }
  const items = Array.isArray(bullets) ? bullets.map(bullet => `• ${bullet}`) : []
  const title = email?.status === 'done' ? 'Email, done' : 'Email'
  const lines = [`Subject: ${subject ?? ''}`, '', ...String(body ?? '').split('\n'), '', ...items].flatMap(wrapped)
  return [
    `┌ ${title} ${'─'.repeat(WIDTH - title.length)}┐`,
    ...lines.map(line => `│ ${line.padEnd(WIDTH)} │`),
    `└${'─'.repeat(WIDTH + 2)}┘`,
  ]
}

/** A line as the form has room for it: broken between words, or where there is no other way within one. */
function wrapped(line: string): string[] {
  return line.match(new RegExp(`.{1,${WIDTH}}(?=\\s|$)|\\S{${WIDTH}}`, 'g'))?.map(part => part.trim()) ?? ['']
}

/** A form in a terminal, drawn over itself; where there is none, what changes is told in a line, and the form when it is done. */
export class Screen {
  #drawn = 0

  /** Draws the form anew; `what` tells what has changed. */
  draw(email: StructuredObject | undefined, what: string): void {
    if (!process.stdout.isTTY) {
      console.log(what)
      return
    }
    const lines = formOf(email)
    const back = this.#drawn === 0 ? '' : `\x1b[${this.#drawn}A\x1b[J`
    process.stdout.write(`${back}${lines.join('\n')}\n`)
    this.#drawn = lines.length
  }

  /** What stands on the screen stays there. */
  done(email: StructuredObject | undefined): void {
    if (!process.stdout.isTTY) console.log(formOf(email).join('\n'))
    this.#drawn = 0
  }
}

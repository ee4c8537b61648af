import type { Json, StructuredObject } from '@millrace/protocol'

const WIDTH = 58

/** Lines of the form for a partial email. */
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

/** Wraps a line between words, or inside a word that is too long. */
function wrapped(line: string): string[] {
  return line.match(new RegExp(`.{1,${WIDTH}}(?=\\s|$)|\\S{${WIDTH}}`, 'g'))?.map(part => part.trim()) ?? ['']
}

/** Redraws the form in a terminal. Without a terminal it prints a line per change, and the form at the end. */
export class Screen {
  #drawn = 0

  /** Redraws the form. `what` describes the change. */
  draw(email: StructuredObject | undefined, status: string): void {
    if (!process.stdout.isTTY) {
      console.log(status)
      return
    }
    const lines = formOf(email)
    const back = this.#drawn === 0 ? '' : `\x1b[${this.#drawn}A\x1b[J`
    process.stdout.write(`${back}${lines.join('\n')}\n`)
    this.#drawn = lines.length
  }

  /** Leaves the form on the screen. */
  done(email: StructuredObject | undefined): void {
    if (!process.stdout.isTTY) console.log(formOf(email).join('\n'))
    this.#drawn = 0
  }
}

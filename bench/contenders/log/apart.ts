import { fork } from 'node:child_process'
import { join } from 'node:path'
import { onCleanup } from '../../harness/cleanup.ts'

/** Another process of this machine that answers what it is asked, one question at a time. */
export interface Apart<Question, Answer> {
  ask(question: Question): Promise<Answer>
  /** Ends it, now rather than with this process. */
  end(): Promise<void>
}

/** Starts a script of this folder in a process of its own, which ends with this one. */
export function apart<Question extends object, Answer>(script: string): Apart<Question, Answer> {
  const child = fork(join(import.meta.dirname, script), { execArgv: process.execArgv })
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    if (child.connected) child.disconnect()
    await gone
  }
  onCleanup(end)
  return {
    end,
    ask: question =>
      new Promise((resolve, reject) => {
        const ended = () => reject(new Error(`${script} ended without an answer`))
        child.once('exit', ended)
        child.once('message', answer => {
          child.off('exit', ended)
          resolve(answer as Answer)
        })
        child.send(question, error => {
          if (error) reject(error)
        })
      }),
  }
}

/** In the script: answers each question, and ends when nobody can ask any more. */
export function answer<Question, Answer extends object>(reply: (question: Question) => Promise<Answer>): void {
  process.on('message', async question => {
    process.send?.(await reply(question as Question))
  })
  process.on('disconnect', () => process.exit())
}

/** The time, comparable between the processes of a machine, in milliseconds. */
export const clock = (): number => performance.timeOrigin + performance.now()

import { fork } from 'node:child_process'
import { join } from 'node:path'
import { onCleanup } from '../../harness/cleanup.ts'

/** A child process that handles one request at a time. */
export interface RequestProcess<Request, Reply> {
  request(request: Request): Promise<Reply>
  /** Ends the child now instead of with this process. */
  end(): Promise<void>
}

/** Starts a script in a child process that ends with this one. The path is relative to this folder. */
export function startChild<Request extends object, Reply>(script: string): RequestProcess<Request, Reply> {
  const child = fork(join(import.meta.dirname, script), { execArgv: process.execArgv })
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise(resolve => child.once('exit', resolve))
    if (child.connected) child.disconnect()
    await exited
  }
  onCleanup(end)
  return {
    end,
    request: request =>
      new Promise((resolve, reject) => {
        const ended = () => reject(new Error(`${script} ended before it replied`))
        child.once('exit', ended)
        child.once('message', answer => {
          child.off('exit', ended)
          resolve(answer as Reply)
        })
        child.send(request, error => {
          if (error) reject(error)
        })
      }),
  }
}

/** Called in the script: replies to each request, and exits when the parent disconnects. */
export function handleRequests<Request, Reply extends object>(reply: (request: Request) => Promise<Reply>): void {
  process.on('message', async request => {
    process.send?.(await reply(request as Request))
  })
  process.on('disconnect', () => process.exit())
}

/** Time in ms, comparable between processes of one machine. */
export const clock = (): number => performance.timeOrigin + performance.now()

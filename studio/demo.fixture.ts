// The demo of examples/demo with the page of the studio, in this process or in the processes of `npm start`.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Started, started } from '@millrace/example-demo/command'
import { type App, type Listening, type MillraceOptions, memoryStore, millrace } from 'millrace'
import { afterAll, beforeAll, onTestFinished, vi } from 'vitest'
import { agents, workflows } from '../examples/demo/agents.ts'
import { root } from '../scripts/command.ts'
import { folder } from '../scripts/folder.fixture.ts'
import { build } from './build.ts'

const START = [process.execPath, '--conditions=@millrace/source', join(root, 'scripts', 'start.ts')]

const logger = { warn() {}, error() {} }

/** Starts a server with the page of the studio in this process. The caller closes it with `stop`. */
export async function listen(options: Omit<MillraceOptions, 'static'>): Promise<Listening> {
  // As `millrace dev` serves it: with pictures from the log, and the page under all paths of the inspector.
  const page = {
    folder: await build(),
    headers: {
      'content-security-policy': "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; img-src 'self' data:",
    },
  }
  const app: App = millrace({ store: memoryStore(), logger, ...options, static: page })
  const { node } = app
  Object.assign(app, {
    node: (...[message, response]: Parameters<App['node']>) => {
      if (message.url?.startsWith('/inspect/')) message.url = '/'
      node(message, response)
    },
  })
  return app.listen({ port: 0 })
}

/** Stops a server without waiting for the connections that browsers keep alive. */
export async function stop({ server, close }: Listening): Promise<void> {
  const closed = close()
  server.closeAllConnections()
  await closed
}

/** Starts a server with the page of the studio until the end of the test. Returns its URL. */
export async function serve(options: Omit<MillraceOptions, 'static'>): Promise<string> {
  const listening = await listen(options)
  onTestFinished(() => stop(listening))
  return listening.url
}

/** Serves the demo from this process to all tests of the calling file, without pauses. Returns a function that returns its URL. */
export function demoServer(): () => string {
  let listening: Listening
  beforeAll(async () => {
    vi.stubEnv('DEMO_PACE', '0')
    listening = await listen({ agents, workflows })
  })
  afterAll(async () => {
    if (listening) await stop(listening)
    vi.unstubAllEnvs()
  })
  return () => listening.url
}

/**
 * Sets the pace of the demo in this process until the end of the test. At pace 1, the agent `long` streams 200 words per second. Tests that act during an answer use a slow, endless answer, so that they are in time on a slow machine.
 */
export function setPace(pace: number): void {
  vi.stubEnv('DEMO_PACE', String(pace))
  onTestFinished(() => void vi.stubEnv('DEMO_PACE', '0'))
}

interface StartOptions {
  readonly cwd?: string
  readonly port?: string
  readonly atEnd?: Parameters<typeof started>[3]
}

/** Starts the demo as `npm start` does, with a server and a worker process. All of it is killed at the end of the test. */
export const startDemo = (pace: number, { cwd = folder({}), port = '0', atEnd }: StartOptions = {}): Started =>
  started(cwd, START, { PORT: port, DEMO_PACE: String(pace) }, atEnd)

/** Starts the demo with a server and a worker process for all tests of the calling file. Returns a function that returns its URL. */
export function demoProcesses(pace: number): () => string {
  const cwd = mkdtempSync(join(tmpdir(), 'millrace-chat-'))
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))
  let url: string
  let end = async () => {}
  afterAll(() => end())
  beforeAll(async () => {
    const demo = startDemo(pace, {
      cwd,
      atEnd: ended => {
        end = ended
      },
    })
    url = await demo.url
  })
  return () => url
}

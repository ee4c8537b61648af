// Installs a server app from the tarballs, without the drivers of Postgres and Redis, bundles it with each bundler, and runs the bundle.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { command } from '../../scripts/command.ts'
import { pnpmEnv } from '../../scripts/pnpm-env.ts'
import { tarballs } from '../../scripts/tarball.ts'

const appSource = join(import.meta.dirname, 'app')
/** A copy of the app outside of the repository, because bundlers look for a workspace in the folders above. */
const appFolder = mkdtempSync(join(tmpdir(), 'millrace-bundlers-'))

/** Removes `NODE_PATH`, by which pnpm lets its child processes find all packages of the repository. */
const CLEAN_ENV = { NODE_PATH: '' }

async function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, output } = await command(program, [...args], {
    cwd: appFolder,
    quiet: true,
    env: { ...CLEAN_ENV, ...env },
  })
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} exited with ${code}:\n${output}`)
  return output
}

/** Installs the bundlers at the versions of the lockfile, and Millrace from its tarballs. */
beforeAll(async () => {
  cpSync(appSource, appFolder, { recursive: true })
  const packed = await tarballs(appFolder)
  const files = Object.fromEntries(packed.map(({ pkg, file }) => [pkg.manifest.name, `file:${file}`]))
  const manifest = JSON.parse(readFileSync(join(appFolder, 'package.json'), 'utf8'))
  Object.assign(manifest.dependencies, { millrace: files['millrace'] })
  writeFileSync(join(appFolder, 'package.json'), JSON.stringify(manifest))
  const overrides = Object.entries(files).map(([name, file]) => `  '${name}': '${file}'\n`)
  appendFileSync(join(appFolder, 'pnpm-workspace.yaml'), `\noverrides:\n${overrides.join('')}`)
  await run('pnpm', ['install', '--no-frozen-lockfile', '--prefer-offline'], await pnpmEnv())
  // Packages of the whole tree, as `name@version`.
  const installed = readdirSync(join(appFolder, 'node_modules', '.pnpm'))
  expect(installed.filter(name => /^(pg|redis)@/.test(name))).toEqual([])
  expect(installed.filter(name => name.startsWith('millrace@'))).toHaveLength(1)
})
afterAll(() => rmSync(appFolder, { recursive: true, force: true }))

const EXPECTED = {
  isAnswered: true,
  largeBytes: 1024 * 1024,
  postgres: expect.stringMatching(/^invalid: .*npm install pg/),
  redis: expect.stringMatching(/^invalid: .*npm install redis/),
}

const dataFolder = (name: string): string => {
  const path = join(appFolder, `data of ${name}`)
  mkdirSync(path)
  return path
}
const bin = (name: string): string => join(appFolder, 'node_modules', '.bin', name)

/** Runs a bundle and returns the result of its probe. */
const runProbe = async (name: string, program: string, file: string): Promise<unknown> =>
  JSON.parse(await run(program, [file, dataFolder(name)]))

describe('a bundle', () => {
  const esbuild = (format: 'esm' | 'cjs') => {
    const outfile = `out/esbuild/main.${format === 'esm' ? 'mjs' : 'cjs'}`
    const flags = [
      '--bundle',
      '--platform=node',
      `--format=${format}`,
      '--minify',
      '--log-limit=0',
      '--log-level=warning',
    ]
    return { file: outfile, args: ['main.js', ...flags, `--outfile=${outfile}`] }
  }
  const bundlers = [
    { name: 'esbuild, ESM', program: 'esbuild', ...esbuild('esm') },
    { name: 'esbuild, CommonJS', program: 'esbuild', ...esbuild('cjs') },
    { name: 'Vite SSR', program: 'vite', args: ['build'], file: 'out/vite/main.js' },
    { name: 'Rollup', program: 'rollup', args: ['-c', '--silent'], file: 'out/rollup/main.js' },
    {
      name: 'webpack, CommonJS',
      program: 'webpack',
      args: ['--config-name', 'commonjs'],
      file: 'out/webpack/main.cjs',
    },
    { name: 'webpack, ESM', program: 'webpack', args: ['--config-name', 'module'], file: 'out/webpack/main.mjs' },
  ]
  test.each(bundlers)('of $name runs in Node', async ({ name, program, args, file }) => {
    await run(bin(program), args)
    expect(await runProbe(name, process.execPath, file)).toEqual(EXPECTED)
  })
})

test('a bundle of Bun runs in Bun', async () => {
  await run(bin('bun'), ['build', 'main.js', '--target=bun', '--outfile=out/bun/main.js'])
  expect(await runProbe('bun', bin('bun'), 'out/bun/main.js')).toEqual(EXPECTED)
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a server and waits until it answers. It ends with the test. */
async function serve(program: string, args: readonly string[], env: NodeJS.ProcessEnv, port: number): Promise<string> {
  const child: ChildProcess = spawn(program, args, {
    cwd: appFolder,
    env: { ...process.env, ...CLEAN_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: these programs start others.
    detached: true,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', text => (output += text))
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), 'SIGKILL')
    await exited
  })
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${program} exited with ${child.exitCode}:\n${output}`)
    if (
      await fetch(url).then(
        reply => reply.arrayBuffer(),
        () => undefined,
      )
    )
      return url
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

const NEXT = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }

test('runs in a route of Next, built with next build, without configuration', async () => {
  await run(bin('next'), ['build'], NEXT)
  const port = await freePort()
  const env = { ...NEXT, PROBE_FOLDER: dataFolder('next') }
  const url = await serve(bin('next'), ['start', '-p', `${port}`, '-H', '127.0.0.1'], env, port)
  expect(await (await fetch(`${url}/api/probe`)).json()).toEqual(EXPECTED)
})

test('runs in a Worker of Wrangler with a store in memory', async () => {
  const port = await freePort()
  const env = { WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG_PATH: join(appFolder, 'wrangler.log'), CI: '1' }
  const url = await serve(bin('wrangler'), ['dev', '--port', `${port}`, '--ip', '127.0.0.1'], env, port)
  const reply = await fetch(`${url}/api/sessions/talk/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'echo', input: 'hello' }),
  })
  expect(await reply.text()).toContain('You said: hello')
})

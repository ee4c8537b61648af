import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const home = join(import.meta.dirname, '..')
/** The folder of the frameworks that the guide uses. */
const frameworks = join(home, '../server/node_modules')

/** Runs the TypeScript of a page like an application, with extra code at its end, several times; returns what each run prints. */
function run(page: string, { more = '', times = 2 } = {}): readonly string[] {
  const text = readFileSync(join(home, '../../docs/guide', page), 'utf8')
  const program = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block).join('\n')
  // Inside the package, so that it can import the package by name.
  const cwd = mkdtempSync(join(home, '.example-'))
  try {
    mkdirSync(join(cwd, 'node_modules', '@hono'), { recursive: true })
    for (const name of ['hono', '@hono/node-server', 'express'])
      symlinkSync(join(frameworks, name), join(cwd, 'node_modules', name))
    for (const [, name = '', block = ''] of text.matchAll(/```ts (\S+)\n(.*?)```/gs)) {
      writeFileSync(join(cwd, name), block)
    }
    writeFileSync(join(cwd, 'example.ts'), `${program}\n${more}`)
    const { MILLRACE_STORE, ...env } = process.env
    const execute = () =>
      execFileSync(process.execPath, ['--conditions=@millrace/source', 'example.ts'], {
        cwd,
        encoding: 'utf8',
        env: { ...env, PORT: '0' },
        stdio: ['ignore', 'pipe', 'ignore'],
        timeout: 150_000,
      })
    return Array.from({ length: times }, execute)
  } finally {
    rmSync(cwd, { recursive: true })
  }
}

test('the guide to the server runs as written, repeatedly, including mounts', () => {
  const more = `
    const servers = [(await import('./hono.ts')).server, (await import('./express.ts')).server]
    const { GET, POST, PATCH, DELETE } = await import('./route.ts')
    for (const mounted of servers) if (!mounted.listening) await new Promise(resolve => mounted.once('listening', resolve))
    const places = servers.map(mounted => mounted.address() as { address: string; port: number })
    const asking = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'echo', input: 'mounted' }),
    }
    const told: boolean[] = []
    for (const { address, port } of places) {
      for (const path of ['/api/sessions/s/runs', '/mill/api/sessions/s/runs']) {
        const reply = await fetch('http://127.0.0.1:' + port + path, asking)
        told.push(address === '127.0.0.1' && (await reply.text()).includes('"type":"end","status":"completed"'))
      }
    }
    const request = () => new Request('http://localhost/api/sessions/s/runs', asking)
    told.push((await (await POST(request())).text()).includes('completed'))
    console.log(told.join(' '), (await GET(new Request('http://localhost/api/agents'))).status, PATCH === DELETE)
    await (await import('./app.ts')).app.close()
    process.exit()`
  for (const printed of run('server.md', { more })) {
    const lines = printed.split('\n')
    expect(lines[0]).toMatch(/^Listening on http:\/\/127\.0\.0\.1:\d+$/)
    expect(lines[1]).toBe('text/event-stream; charset=utf-8 retry: 1000')
    expect(printed).toContain('"type":"end","status":"completed"')
    expect(printed).toContain('\ntrue You said: Hello.\n')
    expect(printed).toContain('201 12 text/plain Grüße.txt\n202\nYou said: From the inside.\n')
    expect(printed).toContain(`${Array(5).fill(true).join(' ')} 200 true`)
  }
})

test('the guide to following and resuming runs as written, repeatedly', () => {
  const printed = [
    'true true',
    '4 true',
    'false',
    '2 true 2 false',
    'true true',
    'open entries caught-up status',
    '',
  ].join('\n')
  expect(run('resume.md')).toEqual([printed, printed])
})

test('the guide to the client runs as written', () => {
  const [printed = ''] = run('client.md', { times: 1 })
  const lines = printed.split('\n')
  expect(lines[0]).toMatch(/^user sent .*"text":"Hello"/)
  expect(lines[1]).toMatch(/^assistant sent .*"text":"You said: Hello"/)
  expect(lines.slice(2, 6)).toEqual(['undefined', 'true 3 1', 'true', 'You said: Hello'])
  expect(lines.at(-2)).toBe('user sent, assistant sent')
})

test('the guide to security runs as written', () => {
  const [printed] = run('security.md', { times: 1 })
  const lines = [202, 403, 200, 404, 401, "[ { customer: 'ann' } ]", "attachment sandbox; default-src 'none'", '']
  expect(printed).toBe(lines.join('\n'))
})

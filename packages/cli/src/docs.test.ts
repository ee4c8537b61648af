import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { compileCache } from '../../../scripts/compile-cache.ts'
import { COMMON_OPTIONS } from './command/parse-arguments.ts'
import { allCommands } from './commands/run.ts'
import { PAGE } from './dev/dev-host.fixture.ts'
import { exitCodes } from './error/command-error.ts'
import { MAIN, millraceCommand, workFolder } from './millrace-command.fixture.ts'

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guide/command.md'), 'utf8')

/** The code blocks of the guide with this info string. */
const blocksOf = (info: string): string[] =>
  [...guide.matchAll(/```(.*)\n([\s\S]*?)```/g)].flatMap(([, blockInfo, block = '']) =>
    blockInfo === info ? [block] : [],
  )

/** A folder with the app of the guide, and a `PATH` whose `npx` runs the command from its sources. */
function guideFolder(): { cwd: string; env: NodeJS.ProcessEnv } {
  const [agent = ''] = blocksOf('ts agent.ts')
  const cwd = workFolder({ 'agent.ts': agent, ...PAGE })
  const bin = join(cwd, 'bin')
  mkdirSync(bin)
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" --conditions=@millrace/source "${MAIN}" "$@"\n`
  writeFileSync(join(bin, 'npx'), npx)
  chmodSync(join(bin, 'npx'), 0o755)
  return {
    cwd,
    env: { ...process.env, ...compileCache, NO_COLOR: '1', PATH: `${bin}${delimiter}${process.env['PATH']}` },
  }
}

test('the commands of the guide run as written, one after the other', async () => {
  const { cwd, env } = guideFolder()
  const [dev = '', ...others] = blocksOf('sh')
  expect([dev, others.length]).toEqual(['npx millrace dev agent.ts\n', 6])
  // The studio would need a build: another page replaces it.
  const host = millraceCommand(cwd, ['dev', 'agent.ts', '--port', '0', '--page', 'page'])
  const [, url = ''] = await host.output(/^Millrace is running at (\S+)$/m)
  const { port } = new URL(url)
  const printed: string[] = []
  for (const block of others) {
    const script = `set -eo pipefail\n${block.replaceAll('4400', port)}`
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd, env: { ...env, MILLRACE_SERVER: url } })
    printed.push(stdout)
  }
  const [startedRun, tail, sessions, replay, convert, doctor] = printed
  expect(startedRun).toContain('"status":"completed"')
  expect(tail).toMatch(/^ +4 {2}.*\n[\s\S]*"type":"run-finished"/)
  expect(sessions).toContain('trip-1')
  expect(readFileSync(join(cwd, 'trip-1.jsonl'), 'utf8')).toContain('{"millrace":"session","version":1')
  expect(replay).toContain('echo: You said: Hello')
  expect(convert).toContain('ai-sdk: You said: Hello')
  expect(doctor).toContain(`a Millrace server listens on port ${port}`)
  expect(doctor).toContain('"ok":true')
})

test('the program of the guide runs as written', async () => {
  const { cwd, env } = guideFolder()
  const [program = ''] = blocksOf('ts')
  // Imports the package by path: it cannot import itself by name before the build.
  const runnable = program
    .replace("'@millrace/cli'", JSON.stringify(join(import.meta.dirname, 'index.ts')))
    .replace('port: 0', "port: 0, page: 'page'")
  writeFileSync(join(cwd, 'program.ts'), runnable)
  const args = ['--conditions=@millrace/source', 'program.ts']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env })
  // A loaded machine needs more than 5 s for a start, and then also prints `loading`.
  expect(stdout.replace(/^loading\n/, '')).toBe('up\n')
})

test('the guide names every command, every option and every exit code', async () => {
  for (const { name, options } of await allCommands()) {
    expect(guide).toContain(`\n## ${name}\n`)
    for (const option of [...Object.keys(options), 'json']) expect(guide).toContain(`--${option}`)
  }
  expect(Object.keys(COMMON_OPTIONS)).toEqual(['json', 'help'])
  for (const code of [0, ...Object.values(exitCodes), 130]) expect(guide).toMatch(new RegExp(`^\\| ${code} \\|`, 'm'))
})

import { DEFAULT_PORT, DEFAULT_STORE } from '@millrace/server/internal'
import type { Command, ParsedArguments } from '../command/command.ts'
import { integerOption, stringOption } from '../command/parse-arguments.ts'
import { checkFile } from '../doctor/check-file.ts'
import { checkNode, checkPort } from '../doctor/check-machine.ts'
import { checkProviders } from '../doctor/check-providers.ts'
import { checkServer } from '../doctor/check-server.ts'
import { checkStore } from '../doctor/check-store.ts'
import type { Finding } from '../doctor/finding.ts'
import { CommandError, exitCodes } from '../error/command-error.ts'
import { openSource } from '../source/source.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `millrace doctor`: checks the environment and says how to fix problems. */
export const doctorCommand: Command = {
  name: 'doctor',
  takes: '[file]',
  about: 'check Node, the store, the port and the server, and say how to fix problems',
  positionals: [0, 1],
  options: {
    store: { value: 'URL', about: `store to check (default: that of the file, or ${DEFAULT_STORE})` },
    server: { value: 'URL', about: 'server to check' },
    port: { value: 'N', about: `port that should be free (default: ${DEFAULT_PORT})` },
    online: { about: 'check the API keys with the model providers' },
  },
  examples: [
    ['millrace doctor', 'check what millrace dev needs'],
    ['millrace doctor agent.ts', 'also load this file and check its store'],
    ['millrace doctor --store redis://localhost:6379 --json', 'check a store, print JSON'],
    ['millrace doctor --server https://agents.example.com', 'check a remote server'],
  ],
  async run(args, terminal) {
    const findings: Finding[] = []
    const report = async (...found: readonly Finding[]) => {
      findings.push(...found)
      if (!terminal.isJson) for (const finding of found) await terminal.write(findingLine(finding, terminal))
    }
    await report(await checkNode())
    await report(...(await checkApp(args)))
    if (stringOption(args, 'server') === undefined) {
      await report(await checkPort(integerOption(doctorCommand, args, 'port', 1, 65_535) ?? DEFAULT_PORT))
    } else
      await report(
        await checkServer(
          await openSource({ positionals: [], values: { server: stringOption(args, 'server') ?? '' } }),
        ),
      )
    await report(...(await checkProviders(process.env, args.values['online'] === true)))
    const isFine = findings.every(({ status }) => status !== 'fail')
    if (terminal.isJson) await terminal.write(`${JSON.stringify({ ok: isFine, findings })}\n`)
    return isFine ? 0 : exitCodes.failed
  },
}

/** Checks the file, if given, and the store of `--store`, of the file, or the default. */
async function checkApp(args: ParsedArguments): Promise<readonly Finding[]> {
  const [file] = args.positionals
  const store = stringOption(args, 'store')
  const fileFindings = file === undefined ? [] : await checkFile({ file, ...(store !== undefined && { store }) })
  // A remote server has its own store, so the default store is not checked.
  const hasExplicitTarget = file !== undefined || stringOption(args, 'server') !== undefined
  if (store === undefined) return hasExplicitTarget ? fileFindings : checkStore(DEFAULT_STORE)
  try {
    return [...fileFindings, ...(await checkStore(store))]
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'invalid') {
      throw new CommandError('usage', `--store: ${error.message}`)
    }
    throw error
  }
}

const MARKS = { ok: ['green', '✓'], note: ['blue', '·'], warn: ['yellow', '!'], fail: ['red', '✗'] } as const

function findingLine({ check, status, message, next }: Finding, { paint }: Terminal): string {
  const [color, mark] = MARKS[status]
  const fix = next === undefined ? '' : `\n${' '.repeat(16)}${paint('dim', `→ ${next}`)}`
  return `${paint(color, mark)} ${check.padEnd(12)}  ${message}${fix}\n`
}

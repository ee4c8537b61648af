import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CommandError } from '../error/command-error.ts'

/** Where the studio's page is in the published package. */
const SHIPPED = fileURLToPath(new URL('../../page', import.meta.url))

/** The folder of the studio's page: the one that was given, or the package's own; throws where it is not there. */
export function pageOf(given: string | undefined): string {
  const folder = given ?? SHIPPED
  if (existsSync(join(folder, 'index.html'))) return folder
  const next = given === undefined ? 'install @millrace/cli again, or build it and give its folder' : 'build it first'
  throw new CommandError('not-found', `The page of the studio is not in ${folder}: ${next}.`, 'page_missing')
}

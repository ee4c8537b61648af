// Checks Node, the folder of the store, the disk and the port.

import { constants, existsSync } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import { errorMessages, type Finding, fail, note, ok, warn } from './finding.ts'

/** Free space below which a check warns. */
const LOW_DISK_BYTES = 1024 ** 3
/** Free space below which a check fails. */
const MIN_DISK_BYTES = 100 * 1024 ** 2

/** Checks that this Node runs TypeScript and has SQLite. */
export async function checkNode(): Promise<Finding> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isSupported = major >= 24 || (major === 22 && minor >= 18)
  if (!isSupported) {
    return fail('node', `node ${process.versions.node} is too old`, 'install node 22.18 or later, or 24')
  }
  try {
    await import('node:sqlite')
  } catch (error) {
    return fail('node', `this node has no SQLite: ${errorMessages(error)}`, 'install node from nodejs.org')
  }
  return ok('node', `node ${process.versions.node}`)
}

/** Checks that only this user can write to the folder of a file store. */
export async function checkFolder(file: string): Promise<Finding> {
  const path = resolve(file)
  const folder = existingFolderOf(dirname(path))
  const existingPath = existsSync(path) ? path : folder
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    await access(existingPath, constants.R_OK | constants.W_OK)
  } catch {
    return fail(
      'permissions',
      `${existingPath} cannot be written`,
      `change its owner: chown -R $(id -un) ${dirname(path)}`,
    )
  }
  const { mode, uid } = await stat(existingPath)
  const isUnix = process.getuid !== undefined
  if (isUnix && existsSync(path) && (mode & 0o002) !== 0) {
    return fail('permissions', `${path} can be changed by every user of this machine`, `chmod 600 ${path}`)
  }
  if (isUnix && existsSync(path) && (mode & 0o004) !== 0 && ((await stat(dirname(path))).mode & 0o001) !== 0) {
    const next = `if others use this machine: chmod 700 ${dirname(path)}`
    return note('permissions', `${path} can be read by every user of this machine`, next)
  }
  const isOwn = !isUnix || uid === process.getuid?.()
  return isOwn
    ? ok('permissions', `${existingPath} can be written`)
    : note('permissions', `${existingPath} belongs to another user`)
}

/** Checks the free disk space. */
export async function checkDisk(file: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(existingFolderOf(dirname(resolve(file))))
  const free = bavail * bsize
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free`
  const next = 'free some space, or move the store: millrace({ store: "sqlite:/path/to/millrace.db" })'
  if (free < MIN_DISK_BYTES) return fail('disk', text, next)
  return free < LOW_DISK_BYTES ? warn('disk', text, next) : ok('disk', text)
}

/** The folder, or its first existing parent. */
function existingFolderOf(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingFolderOf(dirname(folder))
}

/** Checks that a port is free or used by a Millrace server. */
export async function checkPort(port: number): Promise<Finding> {
  const server = createServer()
  const listenError = await new Promise<NodeJS.ErrnoException | undefined>(done => {
    server.once('error', done)
    server.listen(port, '127.0.0.1', () => server.close(() => done(undefined)))
  })
  if (listenError === undefined) return ok('port', `port ${port} is free`)
  if (listenError.code !== 'EADDRINUSE') {
    return fail(
      'port',
      `port ${port} cannot be used: ${listenError.message}`,
      'choose a port of at least 1024 with --port',
    )
  }
  const isMillrace = await fetch(`http://127.0.0.1:${port}/api/health`, { signal: AbortSignal.timeout(3_000) })
    .then(async reply => 'protocol' in Object(await reply.json()))
    .catch(() => false)
  if (isMillrace) return ok('port', `a Millrace server listens on port ${port}`)
  return warn('port', `port ${port} is taken by another program`, `millrace dev <file> --port ${port + 1}`)
}

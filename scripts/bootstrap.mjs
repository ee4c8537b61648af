// Entry point of all npm scripts: `node scripts/bootstrap.mjs <task> [args]`.
// Runs on any Node >= 18 with nothing installed. Installs what the task needs, builds the packages and then runs the task.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_VERSION = '24.21.0'
/** For the announcement of the setup, measured: installed packages and their size on disk. */
const PACKAGES = 'about 600 packages (0.7 GB on disk)'
const CTRL_C_GRACE_MS = 5_000
const PARENT_POLL_MS = 200
/** Minimum time between two lines of progress where a line cannot be rewritten. */
const PROGRESS_MS = 10_000

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cache = join(root, '.cache')
// npm is a .cmd file on Windows, which only a shell runs.
const shell = process.platform === 'win32'
const startedBy = ancestors()

async function main([task, ...args]) {
  const tasks = Object.keys(manifest('package.json').scripts).filter(name => !name.includes(':'))
  if (!tasks.includes(task)) fail(`Expected one of these tasks: ${tasks.join(', ')}. Found '${task ?? ''}'.`)
  const env = cleanEnvironment()
  const node = await findNode(env)
  const pnpm = await findPnpm(env)
  env.PATH = [dirname(node), join(cache, 'pnpm', 'node_modules', '.bin'), env.PATH].join(delimiter)
  await install(node, pnpm, env)
  await build(node, env)
  runTask(node, [join(root, 'scripts', `${task}.ts`), ...args], env)
}

/**
 * Removes the `npm_*` variables that npm sets for its children: a nested npm or pnpm would take a `--workspace` or prefix
 * for the user's. Keeps the settings of the registry.
 */
function cleanEnvironment() {
  const reach =
    /^npm_config_(registry|.+:registry|\/\/.*|userconfig|globalconfig|cache|.*proxy|ca|cafile|cert|key|strict_ssl|fetch_.*)$/i
  const variables = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || reach.test(name))
  // Windows spells it `Path`. Two spellings would be two variables.
  return Object.fromEntries(variables.map(([name, value]) => [name.toUpperCase() === 'PATH' ? 'PATH' : name, value]))
}

/** The running Node if it is new enough, else one from npm. These packages contain the binary and run no install script. */
async function findNode(env) {
  if (isNewEnough()) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const prefix = platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'
  const name = `${prefix}-${platform}-${process.arch}`
  const otherwise = ', or install Node 22.18 or 24'
  const folder = await fromNpm('node', name, NODE_VERSION, `Node ${NODE_VERSION}`, env, otherwise)
  return join(folder, 'bin', platform === 'win' ? 'node.exe' : 'node')
}

/** Whether the running Node runs TypeScript without a flag. */
function isNewEnough() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major >= 24 || (major === 22 && minor >= 18)
}

/** The pnpm that package.json pins. */
async function findPnpm(env) {
  const [name, version] = pinnedPnpm()
  return join(await fromNpm('pnpm', name, version, `pnpm ${version}`, env, ''), 'bin', 'pnpm.mjs')
}

function pinnedPnpm() {
  return manifest('package.json').packageManager.split('@')
}

/** Downloads a package into `.cache/<slot>` unless that version is there. Returns its folder. */
async function fromNpm(slot, name, version, title, env, otherwise) {
  const home = join(cache, slot)
  const folder = join(home, 'node_modules', name)
  const manifestFile = join(folder, 'package.json')
  if (existsSync(manifestFile) && JSON.parse(readFileSync(manifestFile, 'utf8')).version === version) return folder
  // Downloaded to a temporary folder and renamed, so that an interrupted download leaves no partial package.
  const temporary = `${home}.${process.pid}`
  process.once('exit', () => rmSync(temporary, { recursive: true, force: true }))
  mkdirSync(temporary, { recursive: true })
  writeFileSync(join(temporary, 'package.json'), '{"private":true}')
  const flags = ['--include=optional', '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
  const install = ['install', '--prefix', temporary, ...flags, `${name}@${version}`]
  const done = await step(`Downloading ${title}`, 'npm', install, { env, cwd: temporary, shell })
  if (done) {
    rmSync(home, { recursive: true, force: true })
    renameSync(temporary, home)
    return folder
  }
  fail(`Could not download ${name}@${version} from npm. Check the connection to the registry${otherwise}.`)
}

/** Installs from the frozen lockfile if the lockfile, a manifest or the Node version has changed. */
async function install(node, pnpm, env) {
  const stamp = join(root, 'node_modules', '.installed')
  const hash = createHash('sha256').update(spawnedVersion(node))
  const inputs = [
    'pnpm-lock.yaml',
    'pnpm-workspace.yaml',
    'package.json',
    ...members().map(m => join(m, 'package.json')),
  ]
  for (const file of inputs) hash.update(file).update(readFileSync(join(root, file)))
  const now = hash.digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return
  const args = [pnpm, 'install', '--frozen-lockfile', '--reporter=append-only']
  // CI: pnpm must not prompt. Registry: pnpm reads fewer of npm's settings than npm.
  const options = { env: { ...env, CI: '1', pnpm_config_registry: registry(env) }, cwd: root }
  const done = await step('Installing packages', node, args, options, output => {
    const [, all, count] = output.match(/[\s\S]*Progress: resolved (\d+),.* added (\d+)/) ?? []
    return all && `${count} of ${all}`
  })
  if (!done) fail('Could not install the packages. See the output of pnpm above.')
  writeFileSync(stamp, now)
}

function registry(env) {
  const { stdout } = spawnSync('npm', ['config', 'get', 'registry'], { env, shell, cwd: root, encoding: 'utf8' })
  return stdout.trim()
}

/** The version of the Node that will run, without starting it. */
function spawnedVersion(node) {
  return node === process.execPath ? process.version : `v${NODE_VERSION}`
}

/** Updates the `dist/` of each package. Type errors do not stop a task: the code is emitted, and `check` fails on them. */
async function build(node, env) {
  const projects = members().filter(member => existsSync(join(root, member, 'tsconfig.json')))
  projects.forEach(dropOrphans)
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const line = new Line('Building packages')
  // Where nothing has changed, this takes less than a second and is not worth a line.
  const timer = setTimeout(() => line.show(), 1_000)
  const { status, output } = await run(node, [tsc, '-b', ...projects], { env, cwd: root })
  clearTimeout(timer)
  line.end('done')
  if (status !== 0) console.error(`Type errors in the build. The task runs with the emitted code.\n${output}`)
}

/** Deletes the `dist/` of a package if a source was removed: tsc keeps its output, which could be imported and published. */
function dropOrphans(member) {
  const dist = join(root, member, 'dist')
  if (!existsSync(dist)) return
  const outputs = readdirSync(dist, { recursive: true }).filter(file => file.endsWith('.js'))
  const hasSource = file =>
    ['.ts', '.tsx'].some(end => existsSync(join(root, member, 'src', file.replace(/\.js$/, end))))
  if (outputs.every(hasSource)) return
  rmSync(dist, { recursive: true })
  rmSync(join(root, member, 'tsconfig.tsbuildinfo'), { force: true })
}

/** The folders of the workspace's packages, relative to the root, from pnpm-workspace.yaml. */
function members() {
  const [list] = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8').match(/(?<=^packages:\n)( +- .+\n)+/m)
  const globs = list
    .split('\n')
    .map(line => line.replace(/^ +- /, ''))
    .filter(Boolean)
  const folders = globs.flatMap(glob => {
    if (!glob.endsWith('/*')) return [glob]
    const parent = glob.slice(0, -2)
    return readdirSync(join(root, parent)).map(name => `${parent}/${name}`)
  })
  return folders.filter(folder => existsSync(join(root, folder, 'package.json')))
}

/** Runs the task with the streams, signals and exit code of this process. */
function runTask(node, args, env) {
  // The IPC channel closes when this process ends, even if killed. A task that must not outlive it listens for that.
  const child = spawn(node, args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  const watch = setInterval(() => {
    if (ancestors() === startedBy) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, PARENT_POLL_MS)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.removeAllListeners(signal)
    // A terminal sends Ctrl-C to all of the process group, so the child has it already. Forward it only if the child does not exit.
    const wait = signal === 'SIGINT' && process.stdin.isTTY ? CTRL_C_GRACE_MS : 0
    process.on(signal, () => setTimeout(() => child.kill(signal), wait))
  }
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

/** The process ids of the npm that runs this and of its shell, which survives a killed npm. Undefined without npm. */
function ancestors() {
  const { ppid } = process
  if (!process.env.npm_lifecycle_event) return undefined
  try {
    const [, name, above] = readFileSync(`/proc/${ppid}/stat`, 'utf8').match(/\((.*)\) . (\d+)/)
    return /^(ba|da|z)?sh$/.test(name) ? `${above} ${ppid}` : `${ppid}`
  } catch {
    return `${ppid}`
  }
}

let isAnnounced = false

/** Says once, before the first download, what is downloaded and how long it takes. */
function announceSetup() {
  if (isAnnounced) return
  isAnnounced = true
  if (existsSync(join(root, 'node_modules', '.installed'))) {
    console.error('Updating the dependencies. This takes 5 seconds to 2 minutes.')
    return
  }
  const isCached = slot => existsSync(join(cache, slot))
  const tools = [
    ...(isNewEnough() || isCached('node') ? [] : [`Node ${NODE_VERSION}`]),
    ...(isCached('pnpm') ? [] : [pinnedPnpm().join(' ')]),
  ]
  console.error('Setting up. This takes 40 seconds to 3 minutes the first time.')
  console.error(`Downloading ${[...tools, PACKAGES].join(', ')}:\n`)
}

/** Runs a command of the setup. Shows its progress on one line, and its output only if it fails. */
async function step(title, command, args, options, progressOf = () => undefined) {
  announceSetup()
  const line = new Line(title)
  line.show()
  const { status, output, error } = await run(command, args, options, output => line.progress(progressOf(output)))
  line.end(status === 0 ? 'done' : 'failed')
  if (status !== 0) console.error(`${output}${error?.message ?? `Exit code ${status}`}`)
  return status === 0
}

/** Runs a command and resolves with its exit code and output. A signal that ends this process ends the command too. */
function run(command, args, options, onOutput = () => {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  const kill = () => child.kill()
  process.once('exit', kill)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
      onOutput(output)
    })
  }
  return new Promise(resolve => {
    const done = result => {
      process.off('exit', kill)
      resolve({ output, ...result })
    }
    child.on('error', error => done({ status: null, error }))
    child.on('close', status => done({ status }))
  })
}

/** One line for a step. On a terminal it is rewritten, elsewhere each state is a line of its own. */
class Line {
  #title
  #from = performance.now()
  #isShown = false
  #last = ''
  #lastAt = 0

  constructor(title) {
    this.#title = title
  }

  show() {
    this.#isShown = true
    this.#lastAt = performance.now()
    this.#print('…')
  }

  progress(text) {
    const isTty = process.stderr.isTTY
    if (!this.#isShown || text === undefined || text === this.#last) return
    if (!isTty && performance.now() - this.#lastAt < PROGRESS_MS) return
    this.#last = text
    this.#lastAt = performance.now()
    this.#print(`: ${text}`)
  }

  end(how) {
    if (!this.#isShown) return
    this.#print(`: ${how} in ${((performance.now() - this.#from) / 1000).toFixed(1)} s`)
    if (process.stderr.isTTY) process.stderr.write('\n')
  }

  #print(text) {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${this.#title}${text}`)
    else console.error(`${this.#title}${text}`)
  }
}

function manifest(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

function fail(reason) {
  console.error(reason)
  process.exit(1)
}

for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
  // During the setup. `runTask` replaces these listeners.
  process.once(signal, () => process.exit(code))
}
await main(process.argv.slice(2))

// A process that starts services and then ends as its first argument says. Its services must not outlive it.
import { spawn } from 'node:child_process'
import { chromium } from './chromium.ts'
import { postgres } from './postgres.ts'
import { redis } from './redis.ts'

const [, , end = '', profile = '', ...names] = process.argv
const starts = { redis, postgres }

async function browse() {
  const { executablePath, args } = await chromium()
  // Like Playwright: commands go through pipes on descriptors 3 and 4.
  const flags = [...args, '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank']
  return spawn(executablePath, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
}

const browsers = names.includes('chromium') ? [await browse()] : []
const services = await Promise.all(Object.entries(starts).map(([name, start]) => (names.includes(name) ? start() : [])))
const urls = services.flat().map(({ url }) => url)
console.log(JSON.stringify({ urls, browsers: browsers.map(({ pid }) => pid) }))

if (end === 'throw') throw new Error('thrown because of the argument')
if (end === 'wait') setInterval(() => {}, 1_000)

// A process that starts services and then does as its argument says; what it started must not outlive it.
import { spawn } from 'node:child_process'
import { chromium } from './chromium.ts'
import { postgres } from './postgres.ts'
import { redis } from './redis.ts'

const [, , end = '', profile = ''] = process.argv
const { executablePath, args } = await chromium()
// As Playwright starts it: the commands go through pipes, on the descriptors 3 and 4.
const flags = [...args, '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank']
const browser = spawn(executablePath, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
const services = await Promise.all([redis(), postgres()])
console.log(JSON.stringify({ urls: services.map(({ url }) => url), browser: browser.pid }))

if (end === 'throw') throw new Error('as asked')
if (end === 'finish') for (const handle of [browser, ...browser.stdio] as ({ unref(): void } | null)[]) handle?.unref()
if (end === 'wait') setInterval(() => {}, 1_000)

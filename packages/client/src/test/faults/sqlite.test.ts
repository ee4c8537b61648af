import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { tabSuite } from './tab-suite.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-client-'))
afterAll(() => rmSync(folder, { recursive: true }))

tabSuite({ name: 'sqlite', count: 24, concurrency: 12, url: `sqlite:${join(folder, 'sessions.db')}` })

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { schedules } from './suite.fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-client-'))
afterAll(() => rmSync(folder, { recursive: true }))

schedules({ name: 'sqlite', count: 80, lanes: 16, url: `sqlite:${join(folder, 'house.db')}` })

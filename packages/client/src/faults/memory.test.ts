import { schedules } from './suite.fixture.ts'

schedules({ name: 'memory', count: 220, lanes: 24 })

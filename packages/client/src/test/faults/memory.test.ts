import { tabSuite } from './tab-suite.fixture.ts'

tabSuite({ name: 'memory', count: 80, concurrency: 12 })

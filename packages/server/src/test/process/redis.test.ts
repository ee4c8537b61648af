import { redis } from '../../../../../scripts/services/redis.ts'
import { followSuite } from './follow-suite.fixture.ts'

followSuite({ name: 'redis', count: 15, first: 31, start: redis })

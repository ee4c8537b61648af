import { redis } from '../../../../../scripts/services/redis.ts'
import { upgradeSuite } from './upgrade-suite.fixture.ts'

upgradeSuite({ start: () => redis() })

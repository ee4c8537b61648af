import { postgres } from '../../../../../scripts/services/postgres.ts'
import { upgradeSuite } from './upgrade-suite.fixture.ts'

upgradeSuite({ start: () => postgres({ settings: { fsync: 'off' } }) })

// The settings of the workspace, for a run of which somebody wants to be told what failed.
import { mergeConfig } from 'vitest/config'
import workspace from '../vitest.config.ts'
import { FailedReporter } from './failed.ts'

export default mergeConfig(workspace, { test: { reporters: [new FailedReporter()] } })

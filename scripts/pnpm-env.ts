import { command } from './command.ts'

/** Environment that makes pnpm use the registry of npm's configuration. pnpm itself reads fewer of npm's settings. */
export async function pnpmEnv(): Promise<Record<string, string>> {
  const { output } = await command('npm', ['config', 'get', 'registry', '--loglevel=error'], { quiet: true })
  return { CI: '1', pnpm_config_registry: output.trim() }
}

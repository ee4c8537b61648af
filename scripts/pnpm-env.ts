import { command } from './command.ts'

/** The environment in which pnpm installs from the registry that npm is configured for: pnpm reads fewer of npm's settings. */
export async function pnpmEnv(): Promise<Record<string, string>> {
  const { output } = await command('npm', ['config', 'get', 'registry', '--loglevel=error'], { quiet: true })
  return { CI: '1', pnpm_config_registry: output.trim() }
}

/**
 * A copy of the settings of a connection for another thread.
 *
 * @throws Error if a setting cannot be copied, such as a function.
 */
export function plainSettings<Settings extends object>(settings: Settings): Settings {
  for (const [name, value] of Object.entries(settings)) {
    try {
      structuredClone(value)
    } catch {
      throw new Error(`the setting ${name} of the connection is a function or contains one: expected plain data`)
    }
  }
  return structuredClone(settings)
}

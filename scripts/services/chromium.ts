import { find, type Program } from './program.ts'

export const program: Program = {
  name: 'Chromium',
  commands: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  places: [
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  apt: 'chromium',
  brew: '--cask chromium',
}

/** No window, nothing fetched that the page under test did not ask for, and no sandbox, which root cannot have. */
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * What playwright-core's `chromium.launch` needs. Playwright starts and ends the browser: it talks to it through a pipe, and
 * a Chromium whose pipe closes ends itself, also after a kill -9.
 */
export async function chromium(): Promise<{ executablePath: string; args: string[] }> {
  return { executablePath: await find(program), args }
}

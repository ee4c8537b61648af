import { findProgram, type Program } from './program.ts'

export const program: Program = {
  name: 'Chromium',
  commands: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  paths: [
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ],
  apt: 'chromium',
  brew: '--cask chromium',
}

/** No window, no background requests, and no sandbox, which root cannot use. */
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
 * Options for playwright-core's `chromium.launch`. Playwright starts and ends the browser and talks to it through a pipe.
 * Chromium exits when the pipe closes, also after a kill -9.
 */
export async function chromium(): Promise<{ executablePath: string; args: string[] }> {
  return { executablePath: await findProgram(program), args }
}

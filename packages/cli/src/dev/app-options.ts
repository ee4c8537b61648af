import { consoleLogger } from '@millrace/runtime'
import type { MillraceOptions } from '@millrace/server'

/** An app of a dev host is not told to ask who comes: whoever does is on this machine, and it is started again and again. */
export function nearby({ logger = consoleLogger, ...options }: MillraceOptions): MillraceOptions {
  return {
    ...options,
    logger: {
      warn: (message, fields) => {
        if (!message.startsWith('millrace: there is no authorize')) logger.warn(message, fields)
      },
      error: (message, fields) => logger.error(message, fields),
    },
  }
}

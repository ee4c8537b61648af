export const dynamic = 'force-dynamic'

import { probe } from '../../../probe.js'

export const GET = async () => Response.json(await probe(process.env.PROBE_FOLDER))

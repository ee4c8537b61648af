import { type ToolContext, tool } from 'millrace'
import { z } from 'zod'

/** What the team has found out so far, in all turns. */
export const Notes = z.object({ findings: z.array(z.string()), doubts: z.array(z.string()) })

/** A tool that writes a line into the notes of the team. */
export const noteTool = <Name extends string>(name: Name, list: keyof z.infer<typeof Notes>) =>
  tool({
    name,
    description: `Adds a line to the ${list} of the team`,
    inputSchema: z.object({ line: z.string() }),
    execute({ line }, { updateState }: ToolContext<z.infer<typeof Notes>>) {
      updateState(notes => ({ ...notes, [list]: [...notes[list], line] }))
      return { noted: line }
    },
  })

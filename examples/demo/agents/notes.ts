import { type ToolContext, tool } from 'millrace'
import { z } from 'zod'

/** The notes of the team from all turns. */
export const Notes = z.object({ findings: z.array(z.string()), doubts: z.array(z.string()) })

/** A tool that adds a line to the notes of the team. */
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

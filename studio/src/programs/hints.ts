/** Descriptions and sample prompts for the agents and workflows of the demo. */
export const hints: { readonly [name: string]: { readonly about: string; readonly example: string } } = {
  echo: { about: 'Repeats your message.', example: 'Hello!' },
  assistant: {
    about: 'Looks up the weather and answers in Markdown, with a chart and its source.',
    example: 'What is the weather in Paris?',
  },
  operator: {
    about: 'Asks for your approval before it sends an email, and lets you pick a color.',
    example: 'Email ann@example.com, then pick a color',
  },
  team: {
    about: 'Two sub-agents work in parallel and share their notes.',
    example: 'Water mills',
  },
  long: {
    about: 'Writes for half a minute. Restart the server meanwhile: no word is lost.',
    example: 'Tell me about water mills',
  },
  flaky: { about: 'Its model fails halfway. The partial answer is discarded and retried.', example: 'Hello?' },
  'email-draft': {
    about: 'A workflow that asks for a tone, then streams a draft into a form.',
    example: 'Invite the team to our anniversary party on Saturday',
  },
  'guest-book': {
    about: 'A workflow that asks for text, a choice, several choices and a form.',
    example: 'A visit to the mill',
  },
}

/** What there is to know of the programs of the demo, and something to say to each. */
export const hints: { readonly [name: string]: { readonly about: string; readonly example: string } } = {
  echo: { about: 'Says what it is told.', example: 'Hello, mill.' },
  assistant: {
    about: 'Thinks, looks the weather up, answers in Markdown with a picture and its source.',
    example: 'How is the weather in Paris?',
  },
  operator: {
    about: 'Asks you before it sends an email, and lets your browser choose.',
    example: 'Mail ann@example.com, then pick a color',
  },
  team: {
    about: 'Two others work side by side, one with helpers of its own, and share their notes.',
    example: 'Water mills',
  },
  long: {
    about: 'Writes for half a minute: pull the plug meanwhile. Told a number, it counts.',
    example: 'Tell me about the mill',
  },
  flaky: { about: 'Breaks off in the middle; that is taken back, and tried again.', example: 'Hello?' },
  'email-draft': { about: 'Asks for a tone, and fills in a form as it writes.', example: 'Our jubilee on Saturday' },
  'guest-book': { about: 'Asks in every way there is.', example: 'A visit to the mill' },
}

/** What there is to know of the programs of the demo, and something to say to each. */
export const hints: { readonly [name: string]: { readonly about: string; readonly example: string } } = {
  echo: { about: 'Says what it is told.', example: 'Hello, mill.' },
  assistant: {
    about: 'Thinks, looks the weather up, names its source.',
    example: 'How is the weather in Paris?',
  },
  operator: {
    about: 'Asks you before it sends an email, and lets your browser choose.',
    example: 'Mail ann@example.com, then pick a color',
  },
  team: { about: 'Two others work side by side and share their notes.', example: 'Water mills' },
  long: { about: 'Counts as far as it is told, 200 words a second.', example: '2000' },
  flaky: { about: 'Breaks off in the middle; that is taken back, and tried again.', example: 'Hello?' },
  'email-draft': { about: 'Asks for a tone, and fills in a form as it writes.', example: 'Our jubilee on Saturday' },
  'guest-book': { about: 'Asks in every way there is.', example: 'A visit to the mill' },
}

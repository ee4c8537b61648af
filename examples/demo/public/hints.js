/** What there is to know of the programs of the demo, and something to say to each. */
export const hints = new Map(
  Object.entries({
    echo: ['Says what it is told.', 'Hello, mill.'],
    assistant: ['Thinks, looks the weather up, names its source, answers.', 'How is the weather in Paris?'],
    operator: [
      'Asks you before it sends an email, and which color it is to be.',
      'Mail ann@example.com, then pick a color',
    ],
    team: ['Two others work side by side and note what they found in the state.', 'Water mills'],
    long: ['Counts as far as it is told, 200 words a second.', '2000'],
    flaky: ['Breaks off in the middle of its answer. That is taken back, and tried again.', 'Hello?'],
    'email-draft': ['Asks for a tone, and fills in a form while it writes.', 'Our jubilee on Saturday'],
  }),
)

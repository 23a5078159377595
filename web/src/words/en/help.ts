// Words for the help, and what each page of it is about.

export interface HelpPage {
  title: string
  about: string
}

export const help = {
  title: 'Help',
  intro: 'The whole guide is inside the program: nothing here asks another host.',
  contents: 'On this page',
  toIndex: 'All pages',
  notThere: 'There is no such page of the guide',
  notThereHint: 'It may have another name now; all pages are one click away.',
  about: (page: string) => `Help: ${page}`,
  groups: { begin: 'Begin', write: 'Write a job', watch: 'Watch and understand', look: 'Look up' },
  pages: {
    readme: { title: 'What Trainmaster is', about: 'What it does, how to start it, and the first job.' },
    console: { title: 'The console', about: 'Every page of it, and how it is kept safe.' },
    cli: { title: 'The command line', about: 'What holds for all its verbs.' },
    'job-file': { title: 'The job file', about: 'Every key: roles, resources, ports, retries, completion.' },
    dialects: { title: 'Job files of other systems', about: 'OpenPAI, Helm values and others, as they are.' },
    frameworks: { title: 'Frameworks', about: 'PyTorch, TensorFlow, JAX and Keras, made ready for you.' },
    code: { title: 'Where code comes from', about: 'A folder of yours, or a git repository.' },
    inputs: { title: 'Inputs', about: 'Data that is there before the program starts.' },
    outputs: { title: 'Outputs', about: 'Where what tasks write is copied, and when.' },
    datasets: { title: 'Datasets', about: 'Data with a name and versions, which stays what it was.' },
    algorithms: { title: 'Algorithms', about: 'Code that is used again, with channels and parameters.' },
    volumes: { title: 'Volumes and files', about: 'Named storage: directories, buckets, web servers.' },
    secrets: { title: 'Secrets', about: 'Passwords and keys that nobody else sees.' },
    rendezvous: { title: 'How tasks find each other', about: 'TF_CONFIG, torchrun, MPI and the like.' },
    logs: { title: 'Logs', about: 'Follow, search and download every byte.' },
    metrics: { title: 'Metrics', about: 'How numbers become curves.' },
    compare: { title: 'Comparing jobs', about: 'Differences, best versions, lineage.' },
    usage: { title: 'What is used', about: 'CPU, memory, disk, network and accelerators.' },
    endings: { title: 'How things end', about: 'Every cause of an end, with advice.' },
    errors: { title: 'Errors, one by one', about: 'What each refusal means and what to do.' },
  } as Record<string, HelpPage>,
}

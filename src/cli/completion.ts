/**
 * `phasegate completion`: completions for shells, written from the table of commands and options that also parses and helps. A
 * script asks nothing while a person types: starting Node for each key would take too long.
 */
import { Command, type Option } from "commander";
import { argument, type CreateCommand } from "./command.js";

const HELP = `
Load them in the file that your shell reads at its start:
  bash  source <(phasegate completion bash)      in ~/.bashrc
  zsh   source <(phasegate completion zsh)       in ~/.zshrc, after compinit
  fish  phasegate completion fish | source       in ~/.config/fish/config.fish`;

/** The command has the table of all commands in its program. */
export const completionCommand: CreateCommand = ({ stdout }) =>
  new Command("completion")
    .description("Prints completions of commands and options for bash, zsh or fish.")
    .addArgument(argument("<shell>", "your shell").choices(Object.keys(SCRIPTS)))
    .addHelpText("after", HELP)
    .action((shell: keyof typeof SCRIPTS, _options, { parent }: Command) => {
      stdout.write(`${SCRIPTS[shell](entriesIn(parent?.commands ?? [])).join("\n")}\n`);
    });

/** What follows the name of a command: the names of its own commands, or the words of its argument; and options. */
interface Entry {
  readonly name: string;
  readonly about: string;
  readonly words: readonly string[];
  readonly options: readonly Option[];
}

function entriesIn(commands: readonly Command[]): readonly Entry[] {
  return commands.map((command) => {
    const options = [command, ...command.commands].flatMap((one) => one.options.filter(({ hidden }) => !hidden));
    return {
      name: command.name(),
      about: brief(command.summary()),
      words: [
        ...command.commands.map((one) => one.name()),
        ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
      ],
      options: [...new Map(options.map((option) => [option.long, option])).values()],
    };
  });
}

/** Returns the first part of a description, without what a shell reads as a sign. */
function brief(text: string): string {
  const [first = ""] = text.split(/[;:,([]/);
  return first
    .replaceAll("'", "’")
    .replace(/["`\\$<>|]/g, "")
    .trim();
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

function bash(entries: readonly Entry[]): string[] {
  const values = entries.flatMap(({ name, options }) =>
    options
      .filter(takesValue)
      .map(({ long, argChoices = [] }) => `    "${name} ${long}") words="${argChoices.join(" ")}" ;;`),
  );
  const words = entries.map(
    ({ name, words: first, options }) =>
      `        ${name}) words="${[...first, ...options.map(({ long }) => long), "--help"].join(" ")}" ;;`,
  );
  return [
    "_phasegate() {",
    "  local words",
    `  if [ "$COMP_CWORD" -eq 1 ]; then words="${entries.map(({ name }) => name).join(" ")}"; else`,
    `  case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]}" in`,
    ...values,
    "    *)",
    `      case "\${COMP_WORDS[1]}" in`,
    ...words,
    "      esac ;;",
    "  esac; fi",
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    "}",
    "complete -o default -F _phasegate phasegate",
  ];
}

function zsh(entries: readonly Entry[]): string[] {
  const spec = (option: Option) => {
    const value = option.argChoices === undefined ? "_files" : `(${option.argChoices.join(" ")})`;
    return `'*${option.long}[${brief(option.description)}]${takesValue(option) ? `:value:${value}` : ""}'`;
  };
  const cases = entries.map(({ name, words, options }) => {
    const rest = words.length === 0 ? "'*:file:_files'" : `'2:word:(${words.join(" ")})'`;
    return `    ${name}) _arguments ${[...options.map(spec), rest].join(" ")} ;;`;
  });
  return [
    "#compdef phasegate",
    "_phasegate() {",
    "  local -a commands",
    `  commands=(${entries.map(({ name, about }) => `'${name}:${about}'`).join(" ")})`,
    "  if (( CURRENT == 2 )); then _describe command commands; return; fi",
    `  case "$words[2]" in`,
    ...cases,
    "  esac",
    "}",
    "compdef _phasegate phasegate",
  ];
}

function fish(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ name, about, words, options }) => {
    const within = `complete -c phasegate -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c phasegate -n __fish_use_subcommand -f -a ${name} -d '${about}'`,
      ...(words.length === 0 ? [] : [`${within} -f -a '${words.join(" ")}'`]),
      ...options.map((option) => {
        const values = option.argChoices === undefined ? " -r" : ` -x -a '${option.argChoices.join(" ")}'`;
        const long = option.long?.slice(2);
        return `${within} -l ${long}${takesValue(option) ? values : ""} -d '${brief(option.description)}'`;
      }),
    ];
  });
}

const SCRIPTS = { bash, zsh, fish };

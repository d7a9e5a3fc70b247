/**
 * The words of plans, by language, and the patterns made of them. A host adds its own with the option `words`.
 */

/** The words with a meaning for plans. Case does not matter. */
export interface PlanWords {
  /** In titles of phases: `Phase 1: Name`. */
  readonly phase?: readonly string[];
  /** In titles of tasks: `Task 1.1: Name`. */
  readonly task?: readonly string[];
  /** Labels of dependencies: `Depends on: T001`. */
  readonly dependencies?: readonly string[];
  /** Labels of acceptance criteria. */
  readonly criteria?: readonly string[];
  /** Labels of the requirements that a task is for: `Requirements: 1.2`. */
  readonly requirements?: readonly string[];
  /** Labels of states: `Status: done`. */
  readonly status?: readonly string[];
  /** States of what is done, as they stand after such a label. A tick writes the first one. */
  readonly done?: readonly string[];
  /** States of what is not begun. Taking a tick back writes the first one. */
  readonly pending?: readonly string[];
  /** States of what is begun. */
  readonly in_progress?: readonly string[];
  /** States of what waits for something else. */
  readonly blocked?: readonly string[];
  /** States of what is not to be done any more. */
  readonly dropped?: readonly string[];
  /** Said in place of a dependency: `None`. */
  readonly none?: readonly string[];
}

type Concept = keyof PlanWords;

/**
 * The built-in words, in English, German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese, Korean, Ukrainian,
 * Romanian and Arabic: commas separate words, slashes languages. In a word, a blank stands for any number of blanks.
 */
const TABLE: Readonly<Record<Concept, string>> = {
  phase: `phase / phase, etappe, abschnitt / phase, étape, etape / fase, etapa / fase, etapa / fase, tappa / фаза,
    этап, стадия / 阶段, 階段 / フェーズ, フェイズ, 段階 / 단계, 페이즈 / фаза, етап, стадія / faza, fază, etapa, etapă / المرحلة, مرحلة`,
  task: `task, subtask, sub-task / aufgabe, teilaufgabe / tâche, tache / tarea, subtarea / tarefa, subtarefa /
    compito, compiti, attività, sottoattività / задача, задачи, задач, подзадача, задание / 任务, 任務, 子任务 / タスク,
    サブタスク, 作業 / 작업, 태스크, 과제 / задача, завдання, підзадача, підзавдання / sarcină, sarcina, sarcini / المهمة, مهمة`,
  dependencies: `dependency, dependencies, deps, dep, depends, depends on, dependson, depend on, depends upon,
    depending on, dependent on, requires, needs, blocked by, prerequisite, prerequisites, prereq, prereqs,
    prerequisite tasks, prior tasks, task dependencies / abhängigkeit, abhängigkeiten, abhängig von, hängt ab von,
    benötigt, wartet auf, voraussetzungen / dépendance, dépendances, dépend de, nécessite, prérequis / dependencia,
    dependencias, depende de, requiere, requisitos previos / dependência, dependências, depende de, requer,
    pré-requisitos / dipendenza, dipendenze, dipende da, richiede, prerequisiti / зависимость, зависимости,
    зависит от, требует, требуется / 依赖, 依賴, 依赖于, 前置条件, 前置任务, 依赖任务, 依赖项 / 依存, 依存関係, 依存タスク, 前提条件, 前提 / 의존성, 의존,
    선행 작업, 선행 조건 / залежність, залежності, залежить від, потребує / dependență, dependențe, depinde de, necesită / التبعيات,
    الاعتماديات, يعتمد على`,
  criteria: `acceptance, acceptance criteria, acceptance test, acceptance tests, criteria, done when,
    validation criteria, verification criteria, completion criteria, done criteria, definition of done, subtasks,
    sub-tasks / akzeptanzkriterien, abnahmekriterien, fertig wenn / critères d'acceptation, critères d’acceptation,
    critères de validation / criterios de aceptación, criterios de aceptacion, criterio de aceptación /
    critérios de aceitação, critérios de aceite / criteri di accettazione / критерии приёмки, критерии приемки,
    критерии готовности / 验收标准, 驗收標準, 验收条件, 完成标准 / 受け入れ基準, 受入基準, 受け入れ条件, 完了条件 / 인수 기준, 수용 기준, 완료 기준, 완료 조건 /
    критерії приймання, критерії прийняття, критерії готовності / criterii de acceptare / معايير القبول`,
  requirements: `requirement, requirements, traces to, traceability, validates, implements, ref, refs, references /
    anforderung, anforderungen / exigence, exigences / requisito, requisitos / requisito, requisitos /
    requisito, requisiti / требование, требования / 需求, 需求编号, 要求 / 要件, 要求事項 / 요구사항, 요구 사항 / вимога, вимоги / cerință,
    cerințe / المتطلبات, متطلبات`,
  status: `status, state, current status, completed / status, stand / statut, état / estado / status, estado,
    situação / stato / статус, состояние / 状态, 狀態 / ステータス, 状態, 状況 / 상태 / статус, стан / status, stare / الحالة`,
  done: `done, complete, completed, finished, implemented, shipped, merged, closed / fertig, erledigt,
    abgeschlossen / terminé, terminée, fait, faite, achevé / hecho, hecha, completado, completada, terminado,
    terminada / concluído, concluída, feito, feita, completo, completa / fatto, fatta, completato, completata,
    finito, finita / готово, сделано, выполнено, выполнена, завершено, завершена / 已完成, 完成 / 完了, 完了済み, 済 / 완료, 완료됨 /
    готово, зроблено, виконано, виконана, завершено, завершена / finalizat, finalizată, completat, completată, terminat,
    terminată / مكتمل, مكتملة`,
  pending: `pending, todo, to do, open, not started, not done, not complete, not completed, no, undone, deferred,
    later, planned, incomplete, partially, almost / offen, ausstehend / à faire, en attente / pendiente, por hacer /
    pendente, a fazer / da fare, in attesa, aperto / не начато, ожидает, открыто / 待办, 未开始, 待开始, 未完成, 待完成 / 未着手,
    未完了, 未対応 / 대기, 미완료, 시작 전 / не розпочато, очікує, відкрито / în așteptare, neînceput, de făcut / لم يبدأ, قيد الانتظار`,
  in_progress: `in progress, in-progress, started, doing, now, wip, active, ongoing, in review, partial / in arbeit,
    begonnen / en cours / en progreso, en curso / em andamento, em progresso / in corso / в работе, в процессе /
    进行中, 進行中 / 進行中, 作業中, 着手中 / 진행 중, 진행중 / у процесі, в роботі / în lucru, în curs / قيد التنفيذ`,
  blocked: `blocked, on hold, waiting / blockiert / bloqué, bloquée / bloqueado, bloqueada / bloqueado, bloqueada /
    bloccato, bloccata / заблокировано, заблокирована / 阻塞, 受阻, 已阻塞 / ブロック中, 保留 / 차단됨, 보류 / заблоковано, заблокована / blocat, blocată / محظور`,
  dropped: `dropped, cancelled, canceled, skipped, shelved, obsolete, won't do, wontfix, removed / verworfen,
    gestrichen, entfällt / annulé, annulée, abandonné, abandonnée / cancelado, cancelada, descartado, descartada /
    cancelado, cancelada, descartado, descartada / annullato, annullata, scartato / отменено, отменена / 已取消, 取消,
    已放弃 / 中止, 取消, キャンセル / 취소, 취소됨 / скасовано, скасована / anulat, anulată / ملغى, ملغاة`,
  none: `none, nothing, nil, independent / keine, nichts / aucun, aucune / ninguno, ninguna / nenhum, nenhuma /
    nessuno, nessuna / нет, отсутствуют / 无, 無, 没有 / なし, 無し / 없음 / немає, відсутні / niciuna, niciunul / لا يوجد, لا شيء`,
};

/** Words that say what must be first only beside ids of tasks, in the same order. */
const AFTER = `after, once, until, need, require, blocks on, wait for, waits for, waiting for, wait on, waits on,
  waiting on, blocked until, ⛔ / nach, hängt von, setzt, sobald, erst wenn, blockiert durch, blockiert von / après,
  bloqué par, bloquée par, une fois / después de, tras, bloqueado por, bloqueada por / depois de, após,
  bloqueado por, bloqueada por / dopo, bloccato da, bloccata da / после, ждёт, ждет, блокируется / 先完成, 等待 / /`;
/** The same behind the ids. */
const BEHIND = `/ / / / / / / 之后, 之後, 以后, 完成后, 完成後 / に依存, の後, 完了後, 終了後, 待ち, が前提, を前提 / 에 의존, 완료 후, 이후, 다음에`;
/** Words that say what must be later, beside its ids. */
const BLOCKS = `blocks, block, unblocks, blocker for, prerequisite for, prerequisite of, required by, required for,
  needed by, needed for`;
/** The same, between ids. */
const BEFORE = String.raw`before(?!\p{L})|precedes(?!\p{L})|→|[-=]>|⇒`;

const NOT_BEFORE = String.raw`(?:cannot|can['’]t|not)(?:\s+\w+){0,2}\s+before(?!\p{L})`;

function languagesOf(list: string): string[][] {
  return list.split("/").map((words) => words.split(",").flatMap((word) => word.trim() || []));
}

/** Returns the words of a concept in each language, and last those of the dialect and the host. */
function wordsOf(concept: Concept, extra: readonly PlanWords[]): string[][] {
  return [...languagesOf(TABLE[concept]), extra.flatMap((one) => one[concept] ?? []).map((word) => word.toLowerCase())];
}

/** A state that a word can say. */
export type SaidState = "done" | "pending" | "in_progress" | "blocked" | "dropped";
const SAID: readonly SaidState[] = ["done", "pending", "in_progress", "blocked", "dropped"];

/** Signs that say a state by themselves. */
const SIGNS: ReadonlyMap<string, SaidState> = new Map([
  ...[..."✅☑✔✓"].map((sign) => [sign, "done"] as const),
  ...[..."🔄🚧🟡🔶"].map((sign) => [sign, "in_progress"] as const),
  ...[..."⏳❌✗✘🔴⬜🔲⚪"].map((sign) => [sign, "pending"] as const),
]);
/** The source of a pattern for such a sign. */
export const STATE_SIGN = [...SIGNS.keys()].join("|");
const SIGN = new RegExp(STATE_SIGN, "u");
/** A part of the work: `80%`, `3/5`. */
const SHARE = /^[^\p{L}\d]*(\d{1,3}) ?(%|\/ ?(\d{1,3}))/u;

/** Returns the state that a text without words says by a sign or a share: `✅`, `80%`, `3/5`. */
export function stateBySign(text: string): SaidState | undefined {
  if (/\p{L}/u.test(text)) return undefined;
  const [, part, unit, all = "100"] = SHARE.exec(text) ?? [];
  if (unit !== undefined) return Number(part) >= Number(all) ? "done" : Number(part) > 0 ? "in_progress" : "pending";
  return SIGNS.get(SIGN.exec(text)?.[0] ?? "");
}

/** What may stand behind a word for done: signs, dates and numbers, also with a remark in brackets. */
const CLEAR = /^(?:\s*(?:on|at|am|le|el)(?=\s))?[^\p{L}()（）[\]]*(?:[(（[][^()（）[\]]*[)）\]][^\p{L}]*)?$/iu;
const LIMITS =
  /[?❌✗✘⏳🚧~|/]|(?<!100) ?%|(?<!\p{L})(?:but|except|partial\w*|pending|not|no|when|if|until|unless|once|without|almost|only|remaining|missing|false|errors?|todo|wip|left|open|failing|blocked|aber|außer|ohne|noch|nicht|sauf|sans|pas|mais|salvo|excepto|sin|pero|exceto|sem|mas|tranne|senza|ma|кроме|без|но|не)(?!\p{L})|除|未|以外|제외|但/iu;

function isLimited(before: string, after: string): boolean {
  if (LIMITS.test(before) || LIMITS.test(after)) return true;
  return !CLEAR.test(after);
}

/** The words of a reader, with the patterns made of them. */
export type Vocabulary = ReturnType<typeof compile>;

let builtIn: Vocabulary | undefined;

/** Returns the built-in words, with those of the host and the dialect. */
export function vocabularyOf(...extra: readonly (PlanWords | undefined)[]): Vocabulary {
  const given = extra.filter((one) => one !== undefined);
  if (given.length > 0) return compile(given);
  builtIn ??= compile([]);
  return builtIn;
}

function compile(extra: readonly PlanWords[]) {
  const of = (concept: Concept) => [...new Set(wordsOf(concept, extra).flat())];
  const labels = {
    dependencies: new Set(of("dependencies")),
    criteria: new Set(of("criteria")),
    requirements: new Set(of("requirements")),
    status: new Set(of("status")),
    after: new Set(languagesOf(AFTER).flat()),
  };
  const stateOf = new Map(SAID.flatMap((state) => of(state).map((word) => [word, state] as const)));
  const stateWord = starting([...stateOf.keys()]);
  const none = starting(of("none"));
  const whole = (list: readonly string[]) => `(?:${alternatives(list)})${END_OF_WORD}`;
  const verb = `(?!${NOUN})${whole(of("dependencies"))}`;
  const noun = String.raw`${NOUN}[*_]{0,3}\s*[:：=→]`;
  const blocks = String.raw`${whole(languagesOf(BLOCKS).flat())}(?!\s+on(?!\p{L}))`;
  const [strong, weak] = [`${verb}|${noun}`, `${whole([...labels.after])}|${NOT_BEFORE}`];
  const [phase, task] = [alternatives(of("phase")), alternatives(of("task"))];
  // With the ending of a plural: `Aufgaben 1 und 2`.
  const tasks = String.raw`(?:${task})\p{L}{0,2}`;
  const relation = new RegExp(
    String.raw`${START_OF_WORD}(?:(${blocks}|${BEFORE})|(${strong}|${weak}|←|<-|^\s*[:：]\s*$))`,
    "iu",
  );
  return {
    /** Checks whether a label has this meaning. The label is in lower case, with single blanks. */
    isLabel: (concept: keyof typeof labels, name: string) => labels[concept].has(name),
    /**
     * Returns the state that a text begins with, and the word; undefined if it begins with another word. It is `limited` if
     * the rest of the text takes it back: `Done, but not tested`, `Done except 2.3`, `Done ❌`.
     */
    stateIn(text: string) {
      const [, before = "", word = ""] = stateWord.exec(text) ?? [];
      const state = stateOf.get(word.toLowerCase().replace(/\s+/g, " "));
      if (state === undefined) return undefined;
      const index = before.length;
      const limited = state === "done" && isLimited(before, text.slice(index + word.length));
      return { state, word, index, limited };
    },
    /** Returns the word for done or pending in the language of another word for a state. */
    wordFor(state: "done" | "pending", like: string): string {
      const said = like.toLowerCase().replace(/\s+/g, " ");
      const all = SAID.map((one) => wordsOf(one, extra));
      const language = wordsOf(state, extra).find((_, at) => all.some((words) => words[at]?.includes(said)));
      return language?.[0] ?? state;
    },
    /** Checks whether a text about dependencies begins with a word for none. */
    saysNone: (text: string) => none.test(text),
    phaseTitle: phasePattern(phase),
    taskWord: new RegExp(String.raw`^[*_~\s]*(?:${task})(?:\s*#?|-)(?=[\p{L}\p{N}])`, "iu"),
    /** `depends on` at the start of a text in parentheses. */
    dependsInside: new RegExp(String.raw`(?:^|\()\s*(?:(?:${verb}|after\b)(?:\s*[:：])?|${NOUN}\s*[:：])`, "iu"),
    /** A word for a dependency at the end of a text, before ids; a group has the ones with other meanings, such as `after`. */
    relationBefore: new RegExp(
      String.raw`${START_OF_WORD}(?:${blocks}|${strong}|(${weak}))[\s:：=→>_([{"'#]*(?:the\s+)?(?:(?:${tasks}|steps?)\s*#?)?$`,
      "iu",
    ),
    /** A word for a dependency at the start of a text, behind ids. */
    relationBehind: new RegExp(String.raw`^\s*[がをはの]?\s*${whole(languagesOf(BEHIND).flat())}`, "iu"),
    /** Returns whether the first word for a dependency says what must be first, `needs`, or what must be later. */
    relationIn(text: string): "needs" | "blocks" | undefined {
      const [, later, first] = relation.exec(text) ?? [];
      return later !== undefined ? "blocks" : first !== undefined ? "needs" : undefined;
    },
    /** What may stand between two ids of a list. */
    joins: new RegExp(
      String.raw`^(?:[\s,;&+/、，_"'–—~～-]|\.{2,3}|…|\([^()]*\)|(?:${JOIN_WORDS}|then|or|${tasks}|steps?)(?!\p{L}))*$`,
      "iu",
    ),
    /** `Phase 1`, `Phases 1-3`, `第1阶段`, in texts about dependencies. */
    phaseList: new RegExp(
      String.raw`(?<!\p{L})(?:${phase})s?\s*#?(${NUMBER}(?:${JOIN}(?!\d+\.\d)${NUMBER})*)|第\s*(\d+|[${CHINESE}]{1,3})\s*(?:${phase})`,
      "giu",
    ),
    /** `Task 1 and 2`, where tasks have numbers without a dot. */
    taskList: new RegExp(String.raw`(?<!\p{L})${tasks}\s*#?(\d+(?:${JOIN}#?\d+)*)(?!\.?\d)`, "giu"),
  };
}

/** Numbers in words, as titles of phases have them: twelve of each language. */
const NUMBERS = [
  "one two three four five six seven eight nine ten eleven twelve",
  "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
  "un deux trois quatre cinq six sept huit neuf dix onze douze",
  "uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
  "um dois três quatro cinco seis sete oito nove dez onze doze",
  "uno due tre quattro cinque sei sette otto nove dieci undici dodici",
  "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
].flatMap((words) => words.split(" "));
const CHINESE = "一二三四五六七八九十";
const IN_CHINESE = new RegExp(`^[${CHINESE}]+$`);
const KEY = String.raw`\d+\.\d+|\d+[a-z]?|${NUMBERS.join("|")}|[${CHINESE}]{1,3}|[ivx]+|[a-z]`;
/** What ends the number: a colon or dash with the name, a remark in brackets, or the end. */
const REST = String.raw`\s*((?:(?:\([^()]*\)|（[^（）]*）|\[[^[\]]*\])\s*)?)(?:[:：.)|、–—-]+(?!\d)\s*(.*)|(\(.*\)))?$`;

/** Words for dependencies that need a colon after them inside a line. */
const NOUN = String.raw`(?:depends|dependenc(?:y|ies)|deps?|prereq(?:uisite)?s?)(?![\s_-]+on|\p{L})`;

/** The ends of a word; those of other scripts have none. */
const START_OF_WORD = String.raw`(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Arabic}\p{N}])`;
const END_OF_WORD = String.raw`(?![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Arabic}])`;

/** The number of a phase in a list, and what joins two. */
const NUMBER = String.raw`(?:\d+(?:\.\d+)?(?:[a-z](?![\p{L}\p{N}_]))?|(?:${NUMBERS.join("|")}|[${CHINESE}]{1,3})(?!\p{L}))`;
export const JOIN_WORDS = "to|through|bis|and|und|et|y|e|и";
export const JOIN = String.raw`\s*(?:[-–—~～]|\.{2,3}|…|,(?:\s*and)?|、|，|&|和|${JOIN_WORDS})\s*`;

/** A title: any marks, a number of its own, then `Phase 1` or `第1阶段`, or the word and a name without a number. */
function phasePattern(phase: string): RegExp {
  const written = String.raw`(?:(?:${phase})(?:\s+#?|#|-)(${KEY})(?![\p{L}\p{N}])|(?:${phase})(\d+[a-z]?(?![\p{L}\p{N}])|[${CHINESE}]{1,3})|第\s*(\d+|[${CHINESE}]{1,3})\s*(?:${phase})|(\d+)\s*(?:${cjkOf(phase)}))`;
  return new RegExp(
    String.raw`^[^\p{L}\p{N}]*(?:\d+(?:\.\d+)*[.)]?\s+)??(?:${written}${REST}|(?:${phase})\s*[:：]\s*(\S.*)$)`,
    "isu",
  );
}

/** The words that stand after their number: `1단계`, `3段階`. */
function cjkOf(phase: string): string {
  return phase
    .split("|")
    .filter((word) => /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Katakana}ー]+$/u.test(word))
    .join("|");
}

/** Returns a key of a phase in digits where it is a number in words: `two` is `2`, `十二` is `12`. */
export function keyOf(written: string): string {
  const key = written.toLowerCase();
  const word = NUMBERS.indexOf(key);
  if (word !== -1) return `${(word % 12) + 1}`;
  if (!IN_CHINESE.test(key)) return key;
  const [first = "", ones] = key.split("十");
  // Nothing before 十 means one ten, and is found at the place of one.
  const digit = (sign: string) => CHINESE.indexOf(sign) + 1;
  if (ones === undefined) return `${digit(first)}`;
  return `${digit(first) * 10 + (ones === "" ? 0 : digit(ones))}`;
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace(/ +/g, String.raw`[\s_-]+`);
}

/** Longer words come first, so that a word is not read as the beginning of another one. */
function alternatives(words: readonly string[]): string {
  return [...words]
    .sort((one, other) => other.length - one.length)
    .map(escaped)
    .join("|");
}

/** A text that begins with one of these words, after marks; letters of Latin, Cyrillic and Arabic words must end there. */
function starting(words: readonly string[]): RegExp {
  return new RegExp(
    String.raw`^([^\p{L}\p{N}]*)(${alternatives(words)})(?![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Arabic}\p{N}])`,
    "iu",
  );
}

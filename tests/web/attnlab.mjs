// What both tests of the page start from: the program, its page, and a count of what is wrong.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const buildFolder = process.argv[2];
export const packages = join(buildFolder, 'web', 'node_modules');
/** A CommonJS package of src/web, which is installed in the build folder. */
export const load = createRequire(join(packages, 'x'));

/** Standard output of the program. */
export function attnlab(...words) {
  return execFileSync(join(buildFolder, 'attnlab'), words, { encoding: 'utf8', maxBuffer: 1 << 28 });
}

/** The figures of a page: the experiment, the figure's name, and its specification. */
export function figuresOf(page) {
  const figure = /<figure id="([^"]+)">[^]*?<script type="application\/json">([^]*?)<\/script>/g;
  return page.split('<h3 id="').slice(1).flatMap((article) => {
    const experiment = article.slice(0, article.indexOf('"'));
    return [...article.matchAll(figure)].map(([, id, text]) => (
      { id, experiment, name: id.slice(experiment.length + 1), spec: JSON.parse(text) }));
  });
}

let failures = 0;
let checks = 0;

/** Counts a statement, and tells it when it does not hold. */
export function check(holds, statement) {
  ++checks;
  if (holds) return;
  ++failures;
  console.log(`FAILED: ${statement}`);
}

/** Says how it went and ends the process with a status to match. */
export function finish() {
  console.log(`${checks} checks, ${failures} failed`);
  process.exit(failures > 0 ? 1 : 0);
}

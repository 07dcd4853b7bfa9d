// Every figure of every experiment is a specification that Vega-Lite compiles without a warning.
import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { attnlab, check, figuresOf, finish, packages } from './attnlab.mjs';

const { compile } = await import(pathToFileURL(join(packages, 'vega-lite', 'build', 'index.js')));

function complaintsOf(spec) {
  const complaints = [];
  const collect = (...words) => (complaints.push(words.join(' ')), logger);
  const ignore = () => logger;
  const logger = { level: ignore, debug: ignore, info: ignore, warn: collect, error: collect };
  try {
    compile(spec, { logger });
  } catch (error) {
    complaints.push(error.message);
  }
  return complaints.join('; ');
}

const figures = figuresOf(attnlab('report'));
check(figures.length > 10, `a page with ${figures.length} figures`);
for (const { id, spec } of figures) check(complaintsOf(spec) === '', `${id}: ${complaintsOf(spec)}`);

const { experiment, name, spec } = figures[0];
const alone = JSON.parse(attnlab(experiment, '--format', 'vega-lite', '--table', name));
check(isDeepStrictEqual(alone, spec), `${experiment} --format vega-lite is what the page draws`);
check(complaintsOf({ ...spec, mark: 'no-such-mark' }) !== '', 'the compiler refuses a mark that there is not');
finish();

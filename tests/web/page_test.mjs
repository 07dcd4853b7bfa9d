// The page of the whole lesson in a headless Chromium: it draws every figure, asks for nothing, tells the
// tables' numbers, is worked by keyboard, and passes axe's rules in light and dark.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { attnlab, check, figuresOf, finish, load, packages } from './attnlab.mjs';

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (chromium === undefined) {
  console.log('skipped: there is no Chromium');
  process.exit(77);
}

const folder = mkdtempSync(join(tmpdir(), 'attnlab-page-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'lesson.html');
attnlab('report', '--quiet', '-o', file);
const figures = figuresOf(readFileSync(file, 'utf8'));

const browser = await load('playwright-core').chromium.launch({
  executablePath: chromium,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
const complaints = [];
const requests = [];
page.on('console', (message) => {
  if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
});
page.on('pageerror', (error) => complaints.push(error.message));
page.on('request', (request) => {
  if (!request.url().startsWith('data:')) requests.push(request.url());
});

page.setDefaultTimeout(300000);
await page.goto(pathToFileURL(file).href);
await page.waitForSelector('body[data-drawn]', { state: 'attached' });
check(requests.length === 1, `only the file itself is read: ${requests}`);

check(figures.length > 10, `${figures.length} figures`);
for (const { id } of figures) {
  const marks = await page.locator(`#${id} svg .role-mark path, #${id} canvas`).count();
  check(marks > 0, `${id} is drawn`);
}

const headings = await page.$$eval('h1, h2, h3, h4', (all) => all.map((one) => Number(one.tagName[1])));
check(headings[0] === 1, 'the first heading is the title');
check(headings.every((level, i) => i === 0 || level <= headings[i - 1] + 1), 'headings skip no level');

/** The texts of the hover over the first marks of a figure that can be pointed at. */
async function hovers(id, selector, most) {
  const found = [];
  const marks = page.locator(`#${id} svg ${selector}`);
  for (let i = 0; i < Math.min(await marks.count(), most); ++i) {
    await marks.nth(i).scrollIntoViewIfNeeded();
    const box = await marks.nth(i).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    if (await page.locator('.tip').isVisible()) found.push(await page.locator('.tip b').allTextContents());
    await page.mouse.move(1, 1);
  }
  return found;
}

const close = (text, number) => Math.abs(Number(text) - number) <= 1e-5 * Math.abs(number);

// A heat map: row, column and value of cells are those of the array.
const { weights } = JSON.parse(attnlab('attention', '--format', 'json')).values;
const cells = await hovers('attention-weights', '.mark-rect.role-mark path', 25);
check(cells.length === 25, `25 cells tell their value: ${cells.length}`);
for (const [query, key, value] of cells) {
  const told = value === 'hidden by the mask' ? 0 : value;
  const number = weights[parseInt(query)][parseInt(key)];
  check(Number(told) === number || close(told, number), `weight ${query}, ${key} is ${number}: ${value}`);
}

// Lines: each point is a row of the table.
const line = figures.find((one) => one.experiment === 'scaling');
const points = await hovers(line.id, '.mark-symbol.role-mark path', 4);
check(points.length > 0, 'points tell their values');
const source = JSON.parse(attnlab('scaling', '--format', 'json')).tables;
const numbers = Object.values(source).flatMap((one) => one.columns.flatMap((each) => each.data));
for (const texts of points) {
  for (const text of texts)
    check(numbers.some((number) => Number(text) === number || close(text, number)), `${text} is in a table`);
}

// A legend is worked by keyboard: one series alone, then all again.
const many = page.locator('figure:has(.legend)').first();
const opacities = () => many.locator('svg .mark-symbol.role-mark path, svg .mark-rect.role-mark path')
  .evaluateAll((marks) => marks.map((mark) => Number(mark.getAttribute('opacity') ?? 1)));
check((await opacities()).every((opacity) => opacity === 1), 'at first all series are seen');
await many.locator('.legend button').first().focus();
await page.keyboard.press('Enter');
await page.waitForTimeout(300);
const alone = await opacities();
check(alone.some((opacity) => opacity === 1) && alone.some((opacity) => opacity < 0.5), 'a series stands alone');
check(await many.locator('[aria-pressed="true"]').count() === 1, 'its button says so');
await page.keyboard.press('Enter');
await page.waitForTimeout(300);
check((await opacities()).every((opacity) => opacity === 1), 'all series are seen again');

// The first stop of the keyboard leads past the contents.
await page.evaluate(() => document.activeElement.blur());
await page.goto(`${pathToFileURL(file).href}`);
await page.waitForSelector('body[data-drawn]', { state: 'attached' });
await page.keyboard.press('Tab');
check(await page.evaluate(() => document.activeElement.className) === 'skip', 'Tab first reaches the skip link');

const axe = readFileSync(join(packages, 'axe-core', 'axe.min.js'), 'utf8');
await page.evaluate(() => document.querySelectorAll('details').forEach((details) => { details.open = true; }));
for (const colorScheme of ['light', 'dark']) {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  for (const { id, impact, help, nodes } of violations) {
    const serious = ['serious', 'critical'].includes(impact);
    check(!serious, `axe in ${colorScheme}: ${id}: ${help}: ${nodes[0].html.slice(0, 200)}`);
    if (!serious) console.log(`axe in ${colorScheme}, ${impact}: ${id}: ${help}: ${nodes[0].html.slice(0, 200)}`);
  }
}

const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
for (const width of [400, 800, 1920]) {
  await page.setViewportSize({ width, height: 900 });
  check(await page.evaluate(overflow) <= 0, `nothing hangs over at ${width} pixels`);
}
check(complaints.length === 0, `the console is silent: ${complaints}`);
await browser.close();
finish();

import type { help as EnHelp } from '../en/help.ts'

// 帮助页的用词，以及每一页讲什么。

export const help: typeof EnHelp = {
  title: '帮助',
  intro: '全部指南都在程序里，不会访问其他主机。',
  contents: '本页内容',
  toIndex: '全部指南',
  notThere: '没有这一页指南',
  notThereHint: '它可能改了名字；可以从全部指南里找。',
  about: page => `帮助：${page}`,
  groups: { begin: '入门', write: '编写作业', watch: '观察与分析', look: '查阅' },
  pages: {
    readme: { title: 'Trainmaster 是什么', about: '能做什么、怎样启动、第一个作业。' },
    console: { title: '控制台', about: '每个页面的用途，以及安全措施。' },
    cli: { title: '命令行', about: '所有命令的共同约定。' },
    'job-file': { title: '作业文件', about: '每个字段：角色、资源、端口、重试、完成条件。' },
    dialects: { title: '其他系统的作业文件', about: 'OpenPAI、Helm values 等，原样提交即可。' },
    frameworks: { title: '训练框架', about: 'PyTorch、TensorFlow、JAX、Keras，自动备好环境。' },
    code: { title: '代码从哪里来', about: '本地目录或 git 仓库。' },
    inputs: { title: '输入数据', about: '程序启动前就准备好的数据。' },
    outputs: { title: '输出', about: '任务写出的内容何时同步到哪里。' },
    datasets: { title: '数据集', about: '有名字、有版本的数据，内容不会悄悄改变。' },
    algorithms: { title: '算法', about: '可以反复使用的代码，带输入输出通道和参数。' },
    volumes: { title: '数据卷与文件', about: '有名字的存储：目录、对象存储、网站。' },
    secrets: { title: '密钥', about: '别人看不到的密码和密钥。' },
    rendezvous: { title: '任务之间如何互相找到', about: 'TF_CONFIG、torchrun、MPI 等约定。' },
    logs: { title: '日志', about: '实时查看、搜索、逐字节下载。' },
    metrics: { title: '指标', about: '数字怎样变成曲线。' },
    compare: { title: '对比作业', about: '差异、最好的版本、溯源。' },
    usage: { title: '资源用量', about: 'CPU、内存、磁盘、网络、加速卡。' },
    endings: { title: '作业是怎样结束的', about: '每种结束原因的说明和处理建议。' },
    errors: { title: '错误码', about: '每种拒绝的含义和处理办法。' },
  },
}

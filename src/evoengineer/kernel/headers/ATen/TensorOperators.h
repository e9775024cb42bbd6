#pragma once
#include "../evo/torch.h"
